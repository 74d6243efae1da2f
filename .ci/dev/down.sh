#!/bin/bash
# ./dev down [--wipe]: the nodes hand over and stop; --wipe deletes their data too.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=.ci/dev/cluster.bash
source "${QUORUM_ROOT}/.ci/dev/cluster.bash"

wipe=false
case "${1:-}" in
  "") ;;
  --wipe) wipe=true ;;
  *)
    echo "usage: ./dev down [--wipe]" >&2
    exit 2
    ;;
esac

if ! load_cluster; then
  echo "dev: there is no cluster"
  exit 0
fi
mapfile -t all < <(seq 1 "${nodes}")
stop_nodes "${all[@]}"
if "${wipe}"; then
  rm -rf "${CLUSTER_DIR}"
  echo "dev: stopped, and everything in .quorum is deleted"
else
  echo "dev: stopped; the data stay in .quorum"
fi
