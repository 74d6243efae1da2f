#!/bin/bash
# ./dev lint [--fix]: formats, shell scripts, manifests, tidy rules and layering. Thread-safety
# analysis and layering_check are part of every build. QUORUM_LINT_RESULTS names a file that gets
# "passed failed" for ./dev test.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

fix=false
case "${1:-}" in
  "") ;;
  --fix) fix=true ;;
  *)
    echo "usage: ./dev lint [--fix]" >&2
    exit 2
    ;;
esac

# shellcheck disable=SC2046 # One word a package.
ensure_packages "${BUILD_PACKAGES[@]}" "${LINT_PACKAGES[@]}" $(npm_packages) $(hadolint_packages)
passed=0
failed=0

# Runs one check, quietly unless it fails.
check() {
  local name="$1" output
  shift
  if output="$("$@" 2>&1)"; then
    passed=$((passed + 1))
    printf '  ok    %s\n' "${name}"
  else
    failed=$((failed + 1))
    printf '  FAIL  %s\n%s\n' "${name}" "${output}"
  fi
}

# Files that git tracks or would add, NUL-separated, for the given patterns.
files() {
  git -c safe.directory="*" ls-files -z --cached --others --exclude-standard -- "$@" |
    while IFS= read -r -d '' file; do
      # A file that is deleted, but not in the index yet, is still listed.
      [[ ! -f "${file}" ]] || printf '%s\0' "${file}"
    done
}

# buildifier, buf and the schemas of Kubernetes, at the versions of .ci/package-lock.json.
install_tools() {
  local version
  version="$(sha256sum .ci/package-lock.json | cut -c1-16)"
  tools="${QUORUM_TOOLS}/${version}"
  [[ -f "${tools}/complete" ]] && return
  echo "dev: installing the lint tools into ${tools}" >&2
  rm -rf "${tools}"
  mkdir -p "${tools}"
  cp .ci/package.json .ci/package-lock.json "${tools}/"
  npm ci --prefix "${tools}" --ignore-scripts --no-audit --no-fund --loglevel=error >&2 ||
    die "npm could not install the lint tools"
  touch "${tools}/complete"
}

# Several clang-formats at a time, each with its whole output in one piece.
clang_format() {
  local mode=(--dry-run -Werror)
  "${fix}" && mode=(-i)
  # shellcheck disable=SC2016 # The inner shell expands these.
  files '*.h' '*.cc' | xargs -0 -r -P "$(nproc)" -n 20 bash -c '
    output="$(clang-format "$@" 2>&1)" || { printf "%s\n" "${output}"; exit 1; }
  ' clang-format "${mode[@]}" | awk -F: '/error:/ && !seen[$1]++ { print "    " $1 ":" $2 }'
}

buildifier() {
  local mode=(-mode=check -lint=off)
  "${fix}" && mode=(-mode=fix -lint=off)
  files '*.bazel' '*.bzl' '*.BUILD' WORKSPACE '**/WORKSPACE' |
    xargs -0 -r "${tools}/node_modules/.bin/buildifier" "${mode[@]}"
}

buf_format() {
  local mode=(--diff --exit-code)
  "${fix}" && mode=(--write)
  "${tools}/node_modules/.bin/buf" format "${mode[@]}"
}

buf_lint() {
  "${tools}/node_modules/.bin/buf" lint
}

# The commit that the schemas must stay compatible with: where this branch left main, and on main
# the commit before this one. Empty when there is none.
compatible_commit() {
  local git=(git -c safe.directory="*") head base branch
  head="$("${git[@]}" rev-parse --verify --quiet HEAD)" || return 0
  for branch in main origin/main; do
    base="$("${git[@]}" merge-base HEAD "${branch}" 2>/dev/null)" || continue
    [[ "${base}" != "${head}" ]] ||
      base="$("${git[@]}" rev-parse --verify --quiet "HEAD^1")" || return 0
    echo "${base}"
    return 0
  done
}

# buf reads a .git directory, which a worktree does not have, so it gets the files.
buf_breaking() {
  local before status=0
  before="$(mktemp -d)"
  git -c safe.directory="*" archive "$1" buf.yaml proto | tar -x -C "${before}"
  "${tools}/node_modules/.bin/buf" breaking --against "${before}" || status=$?
  rm -rf "${before}"
  return "${status}"
}

shell_check() {
  files dev .ci/run '*.sh' '*.bash' | xargs -0 -r shellcheck -x
}

kubernetes_schemas() {
  .ci/dev/check_manifests.py "${tools}" deploy/kubernetes/*.yaml
}

dockerfile_check() {
  "$(.ci/dev/install_hadolint.sh)" deploy/Dockerfile
}

# Cases of the Bazel tests among the checks; a rule of tidy is a case.
bazel_checks() {
  local log started counts
  log="$(mktemp)"
  started="$(date +%s)"
  if bazel test --nocache_test_results --keep_going --noshow_progress \
    "$@" >"${log}" 2>&1; then
    printf '  ok    %s\n' "$*"
  else
    printf '  FAIL  %s\n' "$*"
    cat "${log}"
  fi
  rm -f "${log}"
  counts="$(.ci/dev/count_cases.py --since="${started}" "$@")"
  passed=$((passed + $(cut -d' ' -f1 <<<"${counts}")))
  failed=$((failed + $(cut -d' ' -f2 <<<"${counts}")))
}

install_tools
check "clang-format" clang_format
check "buildifier" buildifier
if [[ -d proto ]]; then
  check "buf format" buf_format
  check "buf lint" buf_lint
  against="$(compatible_commit)"
  if [[ -n "${against}" ]]; then
    check "buf breaking" buf_breaking "${against}"
  else
    echo "  skip  buf breaking: no earlier commit of main here"
  fi
fi
check "shellcheck" shell_check
check "Kubernetes schemas" kubernetes_schemas
check "hadolint" dockerfile_check
bazel_checks //tests/tidy/... //tests/layering/...

echo "lint: ${passed} passed, ${failed} failed"
[[ -z "${QUORUM_LINT_RESULTS:-}" ]] || echo "${passed} ${failed}" >"${QUORUM_LINT_RESULTS}"
((failed == 0))
