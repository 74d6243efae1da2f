#!/bin/bash
# ./dev start N: starts node N of the cluster again, on the data that it has.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=.ci/dev/cluster.bash
source "${QUORUM_ROOT}/.ci/dev/cluster.bash"

if (($# != 1)); then
  echo "usage: ./dev start N" >&2
  exit 2
fi
ensure_packages "${BUILD_PACKAGES[@]}" iproute2
require_node "$1"
! alive "$1" || die "node $1 runs already (pid $(node_pid "$1"))"
require_node_ports "$1"
[[ -x "${QUORUMD}" ]] || build_programs
start_node "$1" || exit 1
await_ready "$1" || exit 1
echo "dev: node $1 serves on $(node_address "$1") (pid $(node_pid "$1"))"
