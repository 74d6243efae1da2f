#!/bin/bash
# ./dev sim [FLAGS]: builds the simulator and hands it the flags; see ./dev sim --help.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

ensure_packages "${BUILD_PACKAGES[@]}"
has_target tests/sim quorum_sim || die "there is no //tests/sim:quorum_sim in this tree"
bazel build --ui_event_filters=-info //tests/sim:quorum_sim >&2
exec bazel-bin/tests/sim/quorum_sim "$@"
