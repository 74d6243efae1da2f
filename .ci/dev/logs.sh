#!/bin/bash
# ./dev logs N [-f]: what node N has logged; -f goes on with what it logs from now on.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=.ci/dev/cluster.bash
source "${QUORUM_ROOT}/.ci/dev/cluster.bash"

if (($# < 1 || $# > 2)) || [[ $# == 2 && "$2" != -f ]]; then
  echo "usage: ./dev logs N [-f]" >&2
  exit 2
fi
require_node "$1"
log="$(node_log "$1")"
[[ -f "${log}" ]] || die "node $1 has logged nothing yet"
if [[ "${2:-}" == -f ]]; then
  exec tail -n 100 -F "${log}"
fi
exec cat "${log}"
