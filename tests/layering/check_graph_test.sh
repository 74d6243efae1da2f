#!/bin/bash
# Good and bad graphs for check_graph.sh: it must tell them apart.
set -euo pipefail

check="$(dirname "${BASH_SOURCE[0]}")/check_graph.sh"
graph="${TEST_TMPDIR:-/tmp}/graph.txt"

expect() {
  local wanted="$1" what="$2" code=0
  shift 2
  "${check}" "${graph}" "--forbid=//.*_planted" //service/raft:core -- \
    '//service/(base|raft)[:/].*' "$@" >/dev/null || code=$?
  if ((code != wanted)); then
    echo "${what}: exit code ${code}, expected ${wanted}"
    exit 1
  fi
}

printf '%s\n' //service/raft:core //service/raft:replica.cc //service/base:ids >"${graph}"
expect 0 "the allowed graph"
echo @system//:threads >>"${graph}"
expect 0 "threads are allowed to all"
echo @system//:glog >>"${graph}"
expect 1 "a library that is not allowed"
expect 0 "the same library, allowed" '@system//:glog'

strangers=(//storage/rocksdb:store //service/shard:shard //service/base_not:ids //x/service/base:i)
for stranger in "${strangers[@]}"; do
  printf '%s\n' //service/raft:core "${stranger}" >"${graph}"
  expect 1 "${stranger}"
done

printf '%s\n' //service/raft:core //service/base:plant_planted >"${graph}"
expect 1 "the testing flavour in the product"

: >"${graph}"
expect 1 "an empty graph"
echo //service/base:ids >"${graph}"
expect 1 "a graph without its target"
