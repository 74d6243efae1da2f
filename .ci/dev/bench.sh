#!/bin/bash
# ./dev bench [FLAGS]: Quorum beside etcd and the machine's own floors, on one machine, in turn. See
# --help; docs/benchmarks.md keeps the last saved result.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=.ci/dev/cluster.bash
source "$(dirname "${BASH_SOURCE[0]}")/cluster.bash"

usage() {
  cat <<'TEXT'
usage: ./dev bench [FLAGS]

  ./dev bench                   three rounds, about 13 minutes
  ./dev bench --quick           one short round of a minute: a look, not a figure to quote
  ./dev bench --save            writes docs/benchmarks.md as well

  --rounds=N          rounds; each starts fresh clusters, and the order alternates (default 3)
  --seconds=S         measured seconds of each load (default 10)
  --systems=LIST      of quorum, etcd and floors (default all)
  --partitions=N      idle partitions (default 1000)
  --dir=DIR           where the data goes: a real disk (default .quorum/bench)
  --base-port=P       first of 60 ports on 127.0.0.1 (default 17300)
  --bin=DIR           programs that are built already, as bazel-bin; nothing is built then
  --results=FILE      keeps the raw results, a JSON object a line

Close what else uses the machine: foreign CPU time is measured, and named in the report.
TEXT
}

quick=false save=false
rounds="" seconds="" systems=quorum,etcd,floors partitions=1000
dir="${QUORUM_ROOT}/.quorum/bench" base_port=17300 bin="" results=""
command_line="./dev bench $*"
for argument in "$@"; do
  value="${argument#*=}"
  case "${argument}" in
    --quick) quick=true ;;
    --save) save=true ;;
    --rounds=*) rounds="${value}" ;;
    --seconds=*) seconds="${value}" ;;
    --systems=*) systems="${value}" ;;
    --partitions=*) partitions="${value}" ;;
    --dir=*) dir="${value}" ;;
    --base-port=*) base_port="${value}" ;;
    --bin=*) bin="${value}" ;;
    --results=*) results="${value}" ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
done
if "${quick}"; then
  rounds="${rounds:-1}" seconds="${seconds:-1.5}"
  warmup=0.5 settle=1 idle_seconds=5 failovers=1
  shapes=("1 1" "1 16" "1 100" "100 1" "100 16")
else
  rounds="${rounds:-3}" seconds="${seconds:-10}"
  warmup=2 settle=10 idle_seconds=20 failovers=3
  shapes=("1 1" "1 16" "1 100" "100 1" "100 16" "100 100")
fi
[[ "${rounds}" =~ ^[1-9][0-9]?$ ]] || die "--rounds is a number from 1 to 99"
[[ "${seconds}" =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "--seconds is a number"
[[ "${partitions}" =~ ^[1-9][0-9]{0,3}$ ]] || die "--partitions is a number from 1 to 9999"
[[ "${base_port}" =~ ^[1-9][0-9]{3,4}$ ]] || die "--base-port is a number from 1000"
[[ "${systems}" =~ ^(quorum|etcd|floors)(,(quorum|etcd|floors))*$ ]] ||
  die "--systems is a list of quorum, etcd and floors"

wants() {
  [[ ",${systems}," == *",$1,"* ]]
}

# --- Processes of ours, by name; each is ended by its pid, which its start time vouches for. ---
declare -A pid_of=() started_of=()

start() {
  local name="$1"
  shift
  "$@" >>"${work}/${name}.log" 2>&1 &
  pid_of["${name}"]=$!
  # One that is killed on purpose is no news.
  disown
  started_of["${name}"]="$(start_time "${pid_of[${name}]}")"
}

runs() {
  [[ -n "${started_of[$1]}" && "$(start_time "${pid_of[$1]}")" == "${started_of[$1]}" ]]
}

# Asks all to stop at once, so that no node waits for a successor that is gone.
stop_all() {
  local name tries
  for name in "${!pid_of[@]}"; do
    ! runs "${name}" || kill -TERM "${pid_of[${name}]}" 2>/dev/null || true
  done
  for name in "${!pid_of[@]}"; do
    for ((tries = 0; tries < 200; tries++)); do
      runs "${name}" || break
      sleep 0.1
    done
    ! runs "${name}" || kill -KILL "${pid_of[${name}]}" 2>/dev/null || true
  done
  pid_of=() started_of=()
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  stop_all
  ((code == 0)) || show_logs >&2
  [[ -z "${work:-}" ]] || rm -rf "${work}"
  exit "${code}"
}

show_logs() {
  local log
  for log in "${work:-/nonexistent}"/*.log; do
    [[ ! -s "${log}" ]] || printf '\n--- the end of %s\n%s\n' "${log}" "$(tail -n 5 "${log}")"
  done
}

# The HTTP status line of a page on this machine says 200.
answers() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
    IFS= read -r -t 5 line <&3
    [[ "${line}" == *" 200 "* ]]
  ) 2>/dev/null
}

wait_for() {
  local name="$1" port="$2" page="$3" tries
  for ((tries = 0; tries < 300; tries++)); do
    answers "${port}" "${page}" && return 0
    runs "${name}" || die "${name} has ended"
    sleep 0.1
  done
  die "${name} does not answer 200 at :${port}${page}"
}

# --- The systems. Ports, from the base: 1-3 Quorum, 11-13 its pages; 21-23, 31-33 and 41-43 etcd's
# clients, peers and pages; 51 the echo server. ---
port() {
  echo $((base_port + $1))
}

directory_id() {
  printf '00000000-0000-4000-8000-%012d' "$1"
}

start_quorum_node() {
  start "quorum$1" "${bin}/service/server/quorumd" serve --data-dir="${work}/quorum$1" \
    --cluster-id=bench --node-id="$1" --listen-address="127.0.0.1:$(port "$1")" \
    --http-address="127.0.0.1:$(port $((10 + $1)))" --shutdown-timeout-ms=3000
}

start_quorum() {
  local node voters=""
  for node in 1 2 3; do
    voters+="${voters:+,}${node}@127.0.0.1:$(port "${node}"):$(directory_id "${node}")"
  done
  for node in 1 2 3; do
    rm -rf "${work}/quorum${node}"
    "${bin}/service/server/quorumd" format --data-dir="${work}/quorum${node}" --cluster-id=bench \
      --node-id="${node}" --directory-id="$(directory_id "${node}")" \
      --initial-voters="${voters}" >>"${work}/quorum${node}.log" 2>&1 ||
      die "quorumd format failed: $(tail -n 3 "${work}/quorum${node}.log")"
    start_quorum_node "${node}"
  done
  for node in 1 2 3; do wait_for "quorum${node}" "$(port $((10 + node)))" /readyz; done
}

start_etcd_node() {
  local node cluster="" client peer
  for node in 1 2 3; do
    cluster+="${cluster:+,}etcd${node}=http://127.0.0.1:$(port $((30 + node)))"
  done
  client="http://127.0.0.1:$(port $((20 + $1)))" peer="http://127.0.0.1:$(port $((30 + $1)))"
  start "etcd$1" etcd --name="etcd$1" --data-dir="${work}/etcd$1" --pre-vote=true \
    --quota-backend-bytes=8589934592 --initial-cluster="${cluster}" \
    --initial-cluster-state=new --initial-cluster-token=bench --listen-client-urls="${client}" \
    --advertise-client-urls="${client}" --listen-peer-urls="${peer}" \
    --initial-advertise-peer-urls="${peer}" \
    --listen-metrics-urls="http://127.0.0.1:$(port $((40 + $1)))" --logger=zap \
    --log-outputs=stderr
}

start_etcd() {
  local node
  for node in 1 2 3; do
    rm -rf "${work}/etcd${node}"
    start_etcd_node "${node}"
  done
  for node in 1 2 3; do wait_for "etcd${node}" "$(port $((40 + node)))" /health; done
}

# Flags that tell the load generator about a system. A commit of etcd's backend syncs twice: data,
# then its meta page.
about() {
  local first="$1" name="$2" pages="$3" counters="$4" node
  local addresses="" pids="" metrics=""
  for node in 1 2 3; do
    addresses+="${addresses:+,}127.0.0.1:$(port $((first + node)))"
    metrics+="${metrics:+,}127.0.0.1:$(port $((pages + node)))"
    pids+="${pids:+,}${pid_of[${name}${node}]}"
  done
  target=(--system="${name}" --addresses="${addresses}" --pids="${pids}" --metrics="${metrics}"
    --sync_counters="${counters}" --data_dir="${work}")
}

about_quorum() {
  about 0 quorum 10 quorum_fsyncs_total
}

about_etcd() {
  local commits=etcd_disk_backend_commit_duration_seconds_count
  about 20 etcd 40 "etcd_disk_wal_fsync_duration_seconds_count,${commits},${commits}"
}

# --- Runs. Each adds a line to the results. ---
measure() {
  local what="$1" line
  shift
  printf '  %s\n' "${what}" >&2
  line="$("${generator}" "$@" --round="${round}" 2>>"${work}/generator.log")" ||
    die "${what}: $(grep -m 1 '^F' "${work}/generator.log" || tail -n 3 "${work}/generator.log")"
  echo "${line}" >>"${raw}"
}

load() {
  local shape records outstanding
  for shape in "${shapes[@]}"; do
    read -r records outstanding <<<"${shape}"
    measure "$1: ${outstanding} outstanding, ${records} a batch" load "${target[@]}" \
      --outstanding="${outstanding}" --records="${records}" --seconds="${seconds}" \
      --warmup_seconds="${warmup}"
    # At once after its plain twin, since what lies on the disk by then slows down what follows.
    [[ "$1" == Quorum && "${shape}" =~ ^(1 1|1 16|100 16)$ ]] || continue
    measure "$1: ${outstanding} outstanding, ${records} a batch, idempotent" load "${target[@]}" \
      --idempotent --outstanding="${outstanding}" --records="${records}" --seconds="${seconds}" \
      --warmup_seconds="${warmup}"
  done
}

round_of_quorum() {
  start_quorum
  about_quorum
  load Quorum
  local flags=(--topic=spread --partitions=12 --outstanding=100 --seconds="${seconds}"
    --warmup_seconds="${warmup}")
  measure "Quorum: 100 outstanding over 12 partitions" load "${target[@]}" "${flags[@]}"
  measure "Quorum: AppendBatch to 12 partitions, 100 a batch" load "${target[@]}" "${flags[@]}" \
    --append_batch --records=100 --outstanding=6
  measure "Quorum: kill -9 of the leader" gap "${target[@]}"
  stop_all
}

round_of_etcd() {
  start_etcd
  about_etcd
  load etcd
  measure "etcd: kill -9 of the leader" gap "${target[@]}"
  stop_all
}

round_of_floors() {
  local outstanding address
  address="127.0.0.1:$(port 51)"
  measure "floor: fdatasync of 4 KiB" fsync --data_dir="${work}" --seconds="${seconds}"
  start echo "${generator}" echo-server --listen_address="${address}"
  until (exec 3<>"/dev/tcp/127.0.0.1/$(port 51)") 2>/dev/null; do
    runs echo || die "the echo server has ended"
    sleep 0.1
  done
  for outstanding in 1 16 100; do
    measure "floor: bare gRPC echo, ${outstanding} outstanding" load --system=echo \
      --addresses="${address}" --pids="${pid_of[echo]}" --data_dir="${work}" \
      --outstanding="${outstanding}" --seconds="${seconds}" --warmup_seconds="${warmup}"
  done
  stop_all
}

idle_partitions() {
  local repeat node flags=(--topic=idle --partitions="${partitions}")
  start_quorum
  about_quorum
  measure "Quorum: ${partitions} idle partitions" idle "${target[@]}" "${flags[@]}" \
    --settle_seconds="${settle}" --seconds="${idle_seconds}"
  for ((repeat = 1; repeat <= failovers; repeat++)); do
    node=$(((repeat - 1) % 3 + 1))
    about_quorum
    measure "Quorum: kill -9 of node ${node} of ${partitions} partitions" failover \
      "${target[@]}" "${flags[@]}" --victim="${node}"
    start_quorum_node "${node}"
    wait_for "quorum${node}" "$(port $((10 + node)))" /readyz
    sleep 2
  done
  stop_all
}

# --- Preparation ---
packages=("${BUILD_PACKAGES[@]}" git iproute2 python3)
if wants etcd; then
  had_etcd="$(missing_packages etcd-server)"
  packages+=(etcd-server)
fi
ensure_packages "${packages[@]}"
# Debian's package starts a server where systemd runs; that one was nobody's wish.
if [[ -n "${had_etcd:-}" ]] && systemctl is-active --quiet etcd 2>/dev/null; then
  systemctl disable --now --quiet etcd
fi
if [[ -z "${bin}" ]]; then
  bazel build --ui_event_filters=-info //tests/bench:quorum_bench //service/server:quorumd >&2
  bin="${QUORUM_ROOT}/bazel-bin"
fi
generator="${bin}/tests/bench/quorum_bench"
[[ -x "${generator}" ]] || die "there is no ${generator}"

for offset in 1 2 3 11 12 13 21 22 23 31 32 33 41 42 43 51; do
  owner="$(listener_of "$(port "${offset}")")"
  [[ -z "${owner}" ]] ||
    die "port $(port "${offset}") belongs to ${owner}; --base-port=P takes others"
done
mkdir -p "${dir}"
case "$(stat -f -c %T "${dir}")" in
  tmpfs | ramfs) die "${dir} is memory, where nothing is synced; --dir=DIR names a disk" ;;
esac
work="$(mktemp -d "${dir}/run.XXXXXX")"
raw="${work}/results.jsonl"
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

load_before="$(cut -d' ' -f1 /proc/loadavg)"
for ((round = 1; round <= rounds; round++)); do
  order=(quorum etcd floors)
  ((round % 2)) || order=(floors etcd quorum)
  for system in "${order[@]}"; do
    wants "${system}" || continue
    printf 'round %d of %d: %s\n' "${round}" "${rounds}" "${system}" >&2
    "round_of_${system}"
  done
done
if wants quorum; then
  echo "idle partitions" >&2
  idle_partitions
fi

[[ -z "${results}" ]] || cp "${raw}" "${results}"
# A file that git does not know yet may be part of what was built.
dirty="$(git -c safe.directory="*" status --porcelain 2>/dev/null | head -n 1)"
flags=()
"${save}" && flags=(--save=docs/benchmarks.md)
exec_report=(python3 -B tests/bench/report.py "${raw}" "${flags[@]}"
  --fact="date=$(date -u +%F)"
  --fact="commit=$(git -c safe.directory="*" rev-parse --short HEAD)${dirty:+ and local changes}"
  --fact="command=${command_line}"
  --fact="processor=$(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
  --fact="memory=$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)"
  --fact="kernel=Linux $(uname -r)"
  --fact="disk=$(findmnt -n -o SOURCE,FSTYPE --target "${work}" | tr -s ' ')"
  --fact="load average before the first round=${load_before}")
if wants etcd; then
  exec_report+=(--fact="etcd=$(dpkg-query -W -f '${Version}' etcd-server), --pre-vote=true")
fi
"${exec_report[@]}"
