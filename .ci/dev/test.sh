#!/bin/bash
# ./dev test [--fast]: what CI runs. Every stage runs even when an earlier one failed; then comes a
# table of the stages, and the last line is "N passed, N failed". --fast leaves out lint,
# integration and most seeds.
set -uo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

fast=false
fresh_seeds=500
case "${1:-}" in
  "") ;;
  --fast)
    fast=true
    fresh_seeds=20
    ;;
  *)
    echo "usage: ./dev test [--fast]" >&2
    exit 2
    ;;
esac

scratch="$(mktemp -d)"
trap 'rm -rf "${scratch}"' EXIT
stage_names=()
stage_rows=()
all_passed=0
all_failed=0

# Runs a stage: a function that sets stage_passed, stage_failed and stage_skipped and may fail. A
# stage that fails without a failed case counts as one.
run_stage() {
  local name="$1" started finished code=0
  shift
  echo "=== ${name}"
  stage_passed=0 stage_failed=0 stage_skipped=0
  started="$(date +%s)"
  "$@" || code=$?
  finished="$(date +%s)"
  ((code == 0 || stage_failed > 0)) || stage_failed=1
  all_passed=$((all_passed + stage_passed))
  all_failed=$((all_failed + stage_failed))
  stage_names+=("${name}")
  stage_rows+=("$((finished - started)) ${stage_passed} ${stage_failed} ${stage_skipped}")
  return "${code}"
}

# Everything that any stage needs, so that who must install it by hand is asked once.
packages() {
  local wanted=("${BUILD_PACKAGES[@]}" "${LINT_PACKAGES[@]}" "${TEST_PACKAGES[@]}")
  # shellcheck disable=SC2207 # One word a package.
  "${fast}" || wanted+=($(npm_packages) $(hadolint_packages) $(grpcurl_packages))
  # In a shell of its own, because a missing package ends the shell.
  (ensure_packages "${wanted[@]}")
}

lint() {
  local code=0
  QUORUM_LINT_RESULTS="${scratch}/lint" .ci/dev/lint.sh || code=$?
  [[ -f "${scratch}/lint" ]] && read -r stage_passed stage_failed <"${scratch}/lint"
  return "${code}"
}

build() {
  bazel build --nocache_test_results --keep_going //...
}

# Bazel tests with the given tag expression, never from the cache of results.
bazel_tests() {
  local tags="$1" started code=0 counts passed failed skipped
  shift
  started="$(date +%s)"
  bazel test --nocache_test_results --keep_going --build_tests_only \
    --test_tag_filters="${tags}" -- "$@" || code=$?
  # 4: the filters left no test. A stage is only asked for when it has one.
  counts="$(.ci/dev/count_cases.py --since="${started}" --tags="${tags}" -- "$@")" || return 1
  read -r passed failed skipped <<<"${counts}"
  stage_passed=$((stage_passed + passed))
  stage_failed=$((stage_failed + failed))
  stage_skipped=$((stage_skipped + skipped))
  return "${code}"
}

unit() {
  bazel_tests -sim,-integration //tests/... -//tests/tidy/... -//tests/layering/...
}

integration() {
  bazel_tests integration //tests/...
}

# What a user types: the README, the real grpcurl, and what ./dev up promises beside.
command_line() {
  local grpcurl counts
  grpcurl="$(.ci/dev/install_grpcurl.sh)" || return 1
  tests/integration/command_line_test.sh "${grpcurl}" "${scratch}/command_line" || true
  read -r stage_passed stage_failed <"${scratch}/command_line" || return 1
  /usr/bin/python3 -B tests/integration/dev_up_test.py 2>&1 | tee "${scratch}/dev_up"
  counts="$(tail -n 1 "${scratch}/dev_up")"
  [[ "${counts}" =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]] || return 1
  stage_passed=$((stage_passed + BASH_REMATCH[1]))
  stage_failed=$((stage_failed + BASH_REMATCH[2]))
  ((stage_failed == 0 && stage_passed > 0))
}

has_tests_tagged() {
  grep -rqs --include=BUILD.bazel "\"$1\"" tests
}

# Simulates COUNT seeds from FIRST in JOBS processes. Each seed is a case; a counter that stays zero
# in all of them fails.
simulate() {
  local first="$1" count="$2" jobs="$3" log="${scratch}/sim.$1" code=0
  bazel-bin/tests/sim/quorum_sim --from="${first}" --seeds="${count}" --jobs="${jobs}" \
    >"${log}" 2>&1 || code=$?
  local passed=0 failed=0
  if [[ "$(tail -n 1 "${log}")" =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed="${BASH_REMATCH[1]}" failed="${BASH_REMATCH[2]}"
  fi
  # Whoever does not say what it did, or ends badly after it, has failed.
  ((failed > 0 || (code == 0 && passed > 0))) || failed=1
  stage_passed=$((stage_passed + passed))
  stage_failed=$((stage_failed + failed))
  ((failed > 0)) || return 0
  { echo "--- seeds ${first} .. +${count} failed:"; tail -n 100 "${log}"; } >&2
}

sim() {
  bazel build --nocache_test_results --ui_event_filters=-info //tests/sim:quorum_sim || return 1
  local seed pinned=tests/sim/pinned_seeds.txt
  if [[ -f "${pinned}" ]]; then
    while read -r seed _; do
      [[ "${seed}" =~ ^[0-9]+$ ]] && simulate "${seed}" 1 1
    done <"${pinned}"
  fi
  local base
  base="$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')"
  echo "fresh seeds: ./dev sim --from=${base} --seeds=${fresh_seeds} --jobs=$(nproc)"
  simulate "${base}" "${fresh_seeds}" "$(nproc)"
  sed -n '/^seen in /,$p' "${scratch}/sim.${base}"
  if ! "${fast}" && has_tests_tagged sim; then
    bazel_tests sim //tests/... || return 1
  fi
  ((stage_failed == 0))
}

summary() {
  local index seconds passed failed skipped
  printf '\n%-34s %8s %8s %8s %8s\n' stage seconds passed failed skipped
  for index in "${!stage_names[@]}"; do
    read -r seconds passed failed skipped <<<"${stage_rows[index]}"
    printf '%-34s %8d %8d %8d %8d\n' "${stage_names[index]}" \
      "${seconds}" "${passed}" "${failed}" "${skipped}"
  done
  printf '\n%d passed, %d failed\n' "${all_passed}" "${all_failed}"
  ((all_failed == 0))
}

packages_code=0
run_stage packages packages || packages_code=$?
if ((packages_code == 0)); then
  "${fast}" || run_stage lint lint
  run_stage build build
  run_stage "unit, conformance, interaction" unit
  ! has_target tests/sim quorum_sim || run_stage sim sim
  "${fast}" || ! has_tests_tagged integration || run_stage integration integration
  "${fast}" || run_stage "README, grpcurl" command_line
fi
summary || exit $((packages_code == 2 ? 2 : 1))
