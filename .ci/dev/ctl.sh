#!/bin/bash
# ./dev ctl ARGUMENTS: quorumctl against the cluster of ./dev up, unless QUORUM_BOOTSTRAP or
# --bootstrap names another one.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=.ci/dev/cluster.bash
source "${QUORUM_ROOT}/.ci/dev/cluster.bash"

if [[ ! -x "${QUORUMCTL}" ]]; then
  ensure_packages "${BUILD_PACKAGES[@]}"
  build_programs
fi
if [[ -z "${QUORUM_BOOTSTRAP:-}" ]] && load_cluster; then
  QUORUM_BOOTSTRAP="$(bootstrap_list)"
  export QUORUM_BOOTSTRAP
fi
exec "${QUORUMCTL}" "$@"
