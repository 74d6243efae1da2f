#!/bin/bash
# ./dev up [--detach] [--nodes=N] [--base-port=PORT]: builds, and starts a cluster on this machine.
# A second run starts only the nodes that do not run. See cluster.bash.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=.ci/dev/cluster.bash
source "${QUORUM_ROOT}/.ci/dev/cluster.bash"

usage() {
  cat <<'TEXT'
usage: ./dev up [--detach] [--nodes=N] [--base-port=PORT]

  --detach           return once the cluster serves; without it, leader changes and exits are
                     shown until Ctrl-C, which hands over and stops the nodes
  --nodes=N          1 to 9, default 3; the first three found the cluster, the others join
  --base-port=PORT   node N listens on PORT + N - 1 and shows its pages on PORT + N + 99;
                     default 7101
TEXT
}

refuse() {
  echo "dev: $1" >&2
  usage >&2
  exit 2
}

detach=false
wanted_nodes=""
wanted_port=""
for argument in "$@"; do
  case "${argument}" in
    --detach) detach=true ;;
    --nodes=[1-9]) wanted_nodes="${argument#*=}" ;;
    --nodes=*) refuse "--nodes is 1 to 9" ;;
    --base-port=*)
      wanted_port="${argument#*=}"
      if [[ ! "${wanted_port}" =~ ^[1-9][0-9]{3,4}$ ]] ||
        ((wanted_port < 1024 || wanted_port > 65000)); then
        refuse "--base-port is 1024 to 65000"
      fi
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) refuse "up does not take ${argument}" ;;
  esac
done

# Takes the cluster that exists, with more nodes if they are asked for, or draws a new one.
settle_cluster() {
  if load_cluster; then
    [[ -z "${wanted_port}" || "${wanted_port}" == "${base_port}" ]] ||
      die "the cluster in .quorum has the base port ${base_port} for good; ./dev down --wipe first"
    [[ -z "${wanted_nodes}" ]] || ((wanted_nodes >= nodes)) ||
      die "the cluster in .quorum has ${nodes} nodes; ./dev down --wipe starts over"
    ((nodes >= VOTERS_MAX || ${wanted_nodes:-${nodes}} == nodes)) ||
      die "a cluster of ${nodes} cannot found more voters; ./dev down --wipe starts over"
    nodes="${wanted_nodes:-${nodes}}"
  else
    base_port="${wanted_port:-${base_port}}"
    nodes="${wanted_nodes:-3}"
  fi
  local node
  for ((node = 1; node <= nodes; node++)); do
    [[ -n "${directory_ids[${node}]:-}" ]] ||
      directory_ids["${node}"]="$(cat /proc/sys/kernel/random/uuid)"
  done
}

# Starts what does not run, and waits for all of it.
start_dead_nodes() {
  local node failed=0 began started=()
  began="$(date +%s%N)"
  for ((node = 1; node <= nodes; node++)); do
    if alive "${node}"; then
      echo "dev: node ${node} runs already (pid $(node_pid "${node}"))"
    elif start_node "${node}"; then
      started+=("${node}")
    else
      failed=1
    fi
  done
  for node in "${started[@]}"; do await_ready "${node}" || failed=1; done
  for node in "${started[@]}"; do
    ! alive "${node}" || printf 'dev: node %d serves on %s, log .quorum/node%d/log (pid %d)\n' \
      "${node}" "$(node_address "${node}")" "${node}" "$(node_pid "${node}")"
  done
  ((failed == 0)) || return 1
  local tenths=$((($(date +%s%N) - began) / 100000000))
  ((${#started[@]} == 0)) || echo "dev: serving after $((tenths / 10)).$((tenths % 10)) seconds"
}

# Shows leader changes as they are logged, and nodes that end or come back, until none is left.
watch_cluster() {
  local node logs=() running left
  local -A was=()
  for ((node = 1; node <= nodes; node++)); do
    logs+=("$(node_log "${node}")")
    ! alive "${node}" || was["${node}"]=1
  done
  echo "dev: leader changes follow; Ctrl-C hands over and stops"
  tail --pid=$$ -q -n 0 -F "${logs[@]}" 2>/dev/null |
    grep --line-buffered -E '^I.* Leader hw=[^ ]* leo=[^ ]*\] was |^FATAL ' &
  while true; do
    left=0
    for ((node = 1; node <= nodes; node++)); do
      running=0
      ! alive "${node}" || running=1
      left=$((left + running))
      if [[ "${was[${node}]:-0}" == 1 && "${running}" == 0 ]]; then
        echo "dev: node ${node} has ended; ./dev start ${node} brings it back"
      elif [[ "${was[${node}]:-0}" == 0 && "${running}" == 1 ]]; then
        echo "dev: node ${node} runs again"
      fi
      was["${node}"]="${running}"
    done
    ((left > 0)) || break
    sleep 0.3
  done
  echo "dev: no node is left"
}

stop_on_signal() {
  trap '' INT TERM HUP
  echo "dev: handing over and stopping; the data stay in .quorum" >&2
  local all
  mapfile -t all < <(seq 1 "${nodes}")
  stop_nodes "${all[@]}"
  exit 0
}

ensure_packages "${BUILD_PACKAGES[@]}" iproute2
settle_cluster
require_ports
build_programs
save_cluster
"${detach}" || trap stop_on_signal INT TERM HUP
start_dead_nodes || exit 1
if "${detach}"; then
  echo "dev: ./dev ctl topic create orders --partitions=3 --replicas=3"
  exit 0
fi
watch_cluster
