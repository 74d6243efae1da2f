# The cluster of ./dev up on this machine: three voters (more nodes join), all below .quorum, or
# below QUORUM_CLUSTER_DIR, so that a test does not meet the cluster that somebody is using.
# Sourced by the verbs after common.bash. Pids are checked by start time, so that a number which
# the kernel gave to somebody else is never mistaken for a node.
# shellcheck shell=bash disable=SC2034

CLUSTER_DIR="${QUORUM_CLUSTER_DIR:-${QUORUM_ROOT}/.quorum}"
CLUSTER_FILE="${CLUSTER_DIR}/cluster"
CLUSTER_ID=dev
VOTERS_MAX=3
QUORUMD="${QUORUM_ROOT}/bazel-bin/service/server/quorumd"
QUORUMCTL="${QUORUM_ROOT}/bazel-bin/client/quorumctl/quorumctl"
# How long a node may take to be ready, and to hand over and stop.
READY_SECONDS_MAX=60
STOP_SECONDS_MAX=20
# A hand-over takes milliseconds; when all nodes stop at once there is nobody to wait for.
HAND_OVER_MS_MAX=3000

# What the cluster file says: base_port, nodes, and directory_1 .. directory_N. The file is written
# before anything is formatted and only grows, so that a broken off start is gone on with.
base_port=7101
nodes=0
declare -A directory_ids=()

load_cluster() {
  [[ -f "${CLUSTER_FILE}" ]] || return 1
  local key value
  while IFS='=' read -r key value; do
    case "${key}" in
      base_port) base_port="${value}" ;;
      nodes) nodes="${value}" ;;
      directory_*) directory_ids["${key#directory_}"]="${value}" ;;
    esac
  done <"${CLUSTER_FILE}"
}

save_cluster() {
  mkdir -p "${CLUSTER_DIR}"
  local node
  {
    echo "base_port=${base_port}"
    echo "nodes=${nodes}"
    for ((node = 1; node <= nodes; node++)); do
      echo "directory_${node}=${directory_ids[${node}]}"
    done
  } >"${CLUSTER_FILE}.new"
  mv "${CLUSTER_FILE}.new" "${CLUSTER_FILE}"
}

node_dir() { echo "${CLUSTER_DIR}/node$1"; }
node_log() { echo "${CLUSTER_DIR}/node$1/log"; }
node_address() { echo "127.0.0.1:$((base_port + $1 - 1))"; }
# Where a node shows /metrics, /livez and /readyz.
node_http_address() { echo "127.0.0.1:$((base_port + 100 + $1 - 1))"; }

bootstrap_list() {
  local list="" node
  for ((node = 1; node <= nodes; node++)); do list+="${list:+,}$(node_address "${node}")"; done
  echo "${list}"
}

# Dies unless $1 is the number of a node of the cluster.
require_node() {
  load_cluster || die "there is no cluster; ./dev up makes one"
  if [[ ! "${1:-}" =~ ^[1-9]$ ]] || (($1 > nodes)); then die "expected a node, 1 to ${nodes}"; fi
}

# The start time of a process in clock ticks since boot; nothing when there is no such process, or
# when it has ended and only nobody has asked for its exit code yet.
start_time() {
  local stat
  stat="$(cat "/proc/$1/stat" 2>/dev/null)" || return 0
  # Behind the name, which may hold anything, come the state and, as the 20th, the start time.
  awk '$1 !~ /[ZX]/ { print $20 }' <<<"${stat##*) }"
}

# Prints the pid of a node that runs; fails when it does not.
node_pid() {
  local pid started
  read -r pid started 2>/dev/null <"$(node_dir "$1")/pid" || return 1
  [[ -n "${started}" && "$(start_time "${pid}")" == "${started}" ]] && echo "${pid}"
}

alive() { node_pid "$1" >/dev/null; }

# Who listens on a port, like 'nginx (pid 42)'; nothing when nobody does.
listener_of() {
  local line
  line="$(ss -ltnpH "sport = :$1" | head -n 1)"
  [[ -n "${line}" ]] || return 0
  if [[ "${line}" =~ \(\(\"([^\"]*)\",pid=([0-9]+) ]]; then
    echo "${BASH_REMATCH[1]} (pid ${BASH_REMATCH[2]})"
  else
    echo "a process of another user"
  fi
}

# Dies, with the name of whoever is in the way, when node $1 could not have its ports.
require_node_ports() {
  local port owner hint
  hint="or ./dev up --base-port=$((base_port + 1000)) takes others"
  # What the voters know of each other's addresses cannot be changed behind their back.
  [[ ! -f "${CLUSTER_FILE}" ]] || hint="or ./dev down --wipe starts over elsewhere"
  for port in "$((base_port + $1 - 1))" "$((base_port + 100 + $1 - 1))"; do
    owner="$(listener_of "${port}")"
    [[ -z "${owner}" ]] ||
      die "port ${port}, which node $1 needs, belongs to ${owner}; end it, ${hint}"
  done
}

# The same for all nodes that do not run.
require_ports() {
  local node
  for ((node = 1; node <= nodes; node++)); do
    alive "${node}" || require_node_ports "${node}"
  done
}

build_programs() {
  local targets=(//service/server:quorumd) cores flags=(--ui_event_filters=-info)
  ! has_target client/quorumctl quorumctl || targets+=(//client/quorumctl:quorumctl)
  cores="$(nproc)"
  if [[ -x "${QUORUMD}" ]]; then
    echo "dev: building; some seconds when little has changed" >&2
  elif [[ -n "$(ls -A ~/.cache/quorum-bazel 2>/dev/null)" ]]; then
    echo "dev: building; about a minute or two, from the cache" >&2
  else
    echo "dev: building for the first time; about $(((16 + cores - 1) / cores)) minutes on" \
      "${cores} cores" >&2
  fi
  [[ ! -t 2 ]] || flags+=(--show_progress)
  bazel build "${flags[@]}" -- "${targets[@]}" >&2 || die "the build failed (above)"
}

# Makes a data directory, once in its life: a blank disk is never founded again.
format_node() {
  local node="$1" dir voters="" how voter output
  dir="$(node_dir "${node}")"
  if [[ -f "${dir}/formatted" ]]; then
    [[ -d "${dir}/data" ]] && return 0
    echo "dev: node ${node} has lost its data, and a blank disk is never founded again;" \
      "./dev down --wipe starts over" >&2
    return 1
  fi
  mkdir -p "${dir}"
  if ((node <= VOTERS_MAX)); then
    for ((voter = 1; voter <= nodes && voter <= VOTERS_MAX; voter++)); do
      voters+="${voters:+,}${voter}@$(node_address "${voter}"):${directory_ids[${voter}]}"
    done
    how="--initial-voters=${voters}"
  else
    how=--join
  fi
  output="$("${QUORUMD}" format --data-dir="${dir}/data" --cluster-id="${CLUSTER_ID}" \
    --node-id="${node}" --directory-id="${directory_ids[${node}]}" "${how}" 2>&1)" || {
    echo "dev: node ${node} cannot be formatted: ${output}" >&2
    return 1
  }
  touch "${dir}/formatted"
}

# Starts a node in a session of its own, so that Ctrl-C reaches only whoever started it.
start_node() {
  local node="$1" dir pid
  dir="$(node_dir "${node}")"
  format_node "${node}" || return 1
  # What is waited for is looked for behind this place.
  stat -c %s "${dir}/log" >"${dir}/log_start" 2>/dev/null || echo 0 >"${dir}/log_start"
  setsid "${QUORUMD}" serve --data-dir="${dir}/data" --cluster-id="${CLUSTER_ID}" \
    --node-id="${node}" --listen-address="$(node_address "${node}")" \
    --http-address="$(node_http_address "${node}")" --bootstrap="$(bootstrap_list)" \
    --shutdown-timeout-ms="${HAND_OVER_MS_MAX}" \
    >>"${dir}/log" 2>&1 </dev/null &
  pid=$!
  disown
  echo "${pid} $(start_time "${pid}")" >"${dir}/pid"
}

# What a node has logged since its newest start.
log_since_start() {
  local dir
  dir="$(node_dir "$1")"
  tail -c "+$(($(cat "${dir}/log_start") + 1))" "${dir}/log" 2>/dev/null
}

# Waits until a started node is ready. Fails, and says why, when it ends or takes too long.
await_ready() {
  local node="$1" deadline=$((SECONDS + READY_SECONDS_MAX))
  while ! log_since_start "${node}" | grep "] ready node=${node} " >/dev/null; do
    if ! alive "${node}"; then
      echo "dev: node ${node} has ended:" >&2
      log_since_start "${node}" | tail -n 5 >&2
      return 1
    fi
    if ((SECONDS >= deadline)); then
      echo "dev: node ${node} runs, but is not ready after ${READY_SECONDS_MAX} s:" >&2
      log_since_start "${node}" | tail -n 5 >&2
      return 1
    fi
    sleep 0.05
  done
}

# Asks nodes to hand over and stop, all at once, and waits for them.
stop_nodes() {
  local node pid deadline
  local -A stopping=()
  for node in "$@"; do
    pid="$(node_pid "${node}")" || continue
    stopping["${node}"]="${pid}"
    kill -TERM "${pid}" 2>/dev/null || true
  done
  deadline=$((SECONDS + STOP_SECONDS_MAX))
  for node in "${!stopping[@]}"; do
    while alive "${node}" && ((SECONDS < deadline)); do sleep 0.05; done
    if alive "${node}"; then
      echo "dev: node ${node} does not stop; killed" >&2
      kill -KILL "${stopping[${node}]}" 2>/dev/null || true
    fi
    rm -f "$(node_dir "${node}")/pid"
  done
}
