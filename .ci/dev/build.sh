#!/bin/bash
# ./dev build [TARGET...] [BAZEL FLAGS]: builds everything, or the named targets.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

ensure_packages "${BUILD_PACKAGES[@]}"

flags=()
targets=()
for argument in "$@"; do
  case "${argument}" in
    -*) flags+=("${argument}") ;;
    *) targets+=("${argument}") ;;
  esac
done
((${#targets[@]})) || targets=(//...)
exec bazel build "${flags[@]}" -- "${targets[@]}"
