#!/bin/bash
# What a user types: every command of README.md, in its order, against a cluster of ./dev up; the
# real grpcurl against the same data; then every example of docs/api.md. Each command or question is
# a test case.
# usage: command_line_test.sh GRPCURL RESULTS; RESULTS gets "passed failed".
set -uo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "${root}" || exit 1
grpcurl="$1"
results="$2"
scratch="$(mktemp -d)"
export QUORUM_CLUSTER_DIR="${scratch}/cluster"
unset QUORUM_BOOTSTRAP
passed=0
failed=0
# No command waits for longer; every wait of the nodes is shorter.
LIMIT=30

finish() {
  ((failed == 0)) || for log in "${QUORUM_CLUSTER_DIR}"/node*/log; do
    echo "--- ${log##*/cluster/}:"
    tail -n 15 "${log}"
  done
  ./dev down --wipe >/dev/null 2>&1
  echo "${passed} ${failed}" >"${results}"
  rm -rf "${scratch}"
}
trap finish EXIT

# The verdict over a case.
ok() {
  passed=$((passed + 1))
  printf '  ok    %s\n' "$1"
}
bad() {
  failed=$((failed + 1))
  printf '  FAIL  %s\n%s\n' "$1" "$2"
}

# Ports of three nodes and their pages that nobody uses: below those of outgoing connections.
pick_base_port() {
  local port
  for ((port = 11000 + RANDOM % 100 * 50; port < 30000; port += 250)); do
    ss -ltnH | awk '{ print $4 }' | grep -qE ":($(seq -s '|' "${port}" "$((port + 2))")|\
$(seq -s '|' "$((port + 100))" "$((port + 102))"))\$" || {
      echo "${port}"
      return
    }
  done
}
base_port="$(pick_base_port)"

# --- README.md ---

# The commands of the README, one a line: what is indented like code. Not apt-get: ./dev test has
# installed all that is needed, and need not be root.
readme_commands() {
  local commands='(\.\/dev|seq|wait|grpcurl|sed)( .*)?'
  local others='(bazel-bin\/|client\/|127\.0\.0\.1:|PATH=|PYTHONPATH=).*'
  sed -nE "s/^ {4,}(${commands}|${others})\$/\1/p" README.md |
    sed -e ':join' -e '/\\$/{N;s/\\\n */ /;bjoin' -e '}'
}

# The same command for this test's cluster and the leader of the moment.
here() {
  local leader="$1" command="$2"
  command="${command//\/tmp\//${scratch}/}"
  command="${command//127.0.0.1:7101/127.0.0.1:${base_port}}"
  command="${command//127.0.0.1:7102/127.0.0.1:$((base_port + 1))}"
  command="${command//.quorum\//${QUORUM_CLUSTER_DIR}/}"
  # The program that is taken out of the README names the addresses too.
  [[ "${command}" != sed* ]] || command+="; sed -i -e s/127.0.0.1:7101/127.0.0.1:${base_port}/ \
    -e s/127.0.0.1:7102/127.0.0.1:$((base_port + 1))/ \
    -e s/127.0.0.1:7103/127.0.0.1:$((base_port + 2))/ '${scratch}/controller.py'"
  command="${command/#.\/dev up/.\/dev up --base-port=${base_port}}"
  command="${command/#.\/dev kill N/.\/dev kill ${leader}}"
  command="${command/#.\/dev start N/.\/dev start ${leader}}"
  echo "${command}"
}

run_readme() {
  local command mine leader="" output
  output="${scratch}/output"
  while IFS= read -r -u 3 command; do
    [[ "${command}" != *" kill N" ]] ||
      leader="$(./dev ctl quorum describe orders:0 -o json | grep -oE '"leaderId":[0-9]+' |
        head -n 1 | cut -d: -f2)"
    mine="$(here "${leader}" "${command}")"
    if [[ "${mine}" == *"&" ]]; then
      # Judged by its wait.
      eval "${mine%&} >'${scratch}/background' 2>&1 &"
    elif [[ "${mine}" == wait ]]; then
      # 0: all committed; 6: the fate of some is unknown, which a crash may do.
      wait $!
      case $? in
        0 | 6) ok "README: the appends go on after the leader is killed" ;;
        *) bad "README: ${command}" "$(cat "${scratch}/background")" ;;
      esac
    elif [[ "${mine}" == PATH=* ]]; then
      # For the commands behind it.
      eval "${mine}"
      if command -v grpcurl >"${output}"; then ok "README: ${command}"; else
        bad "README: ${command}" "it brings no grpcurl"
      fi
    elif [[ "${mine}" == "./dev up"* ]]; then
      # Builds; only what it says limits it.
      if eval "${mine}" >"${output}" 2>&1; then ok "README: ${command}"; else
        bad "README: ${command}" "$(cat "${output}")"
      fi
    elif timeout "${LIMIT}" bash -o pipefail -c "${mine}" >"${output}" 2>&1; then
      ok "README: ${command}"
    else
      bad "README: ${command}" "exit $? of ${mine}: $(cat "${output}")"
    fi
  done 3< <(readme_commands)
}

# --- grpcurl ---

# expect NAME EXIT_CODE PATTERNS -- ARGUMENTS of grpcurl. Every pattern must be in what it prints.
expect() {
  local name="$1" wanted="$2" patterns=() output code=0 pattern
  shift 2
  while [[ "$1" != -- ]]; do
    patterns+=("$1")
    shift
  done
  shift
  output="$("${grpcurl}" -max-time "${LIMIT}" -plaintext "$@" 2>&1)" || code=$?
  if ((code != wanted)); then
    bad "grpcurl: ${name}" "exit ${code}, not ${wanted}: ${output}"
    return
  fi
  for pattern in "${patterns[@]}"; do
    grep -qE -- "${pattern}" <<<"${output}" || {
      bad "grpcurl: ${name}" "no match for ${pattern} in: ${output}"
      return
    }
  done
  ok "grpcurl: ${name}"
}

# grpcurl exits with 64 and the gRPC code.
exit_of() {
  case "$1" in
    INVALID_ARGUMENT) echo 67 ;;
    NOT_FOUND) echo 69 ;;
    UNIMPLEMENTED) echo 76 ;;
  esac
}

run_grpcurl() {
  local node port name
  local record='{"topic":"orders","partition":0,"records":[{"key":"azE=","value":"djE="}]}'
  local read='{"topic":"orders","partition":0,"earliest":true,"untilHighWatermark":true}'
  for node in 0 1 2; do
    port=$((base_port + node))
    expect "append at node $((node + 1))" 0 '"baseOffset": "[0-9]+"' '"leaderEpoch": "[0-9]+"' \
      '"leaderId": [123]' -- -d "${record}" "127.0.0.1:${port}" quorum.v1.LogService/Append
    expect "tail at node $((node + 1))" 0 '"key": "azE="' '"value": "djE="' '"nextOffset"' \
      '"offsetDelta": 0' -- -d "${read}" "127.0.0.1:${port}" quorum.v1.LogService/Tail
  done
  port="${base_port}"
  expect "services by reflection" 0 '^quorum.v1.LogService$' '^quorum.v1.AdminService$' \
    '^quorum.v1.VoterService$' '^quorum.v1.ObserverService$' '^grpc.health.v1.Health$' \
    '^grpc.reflection.v1.ServerReflection$' '^grpc.reflection.v1alpha.ServerReflection$' -- \
    "127.0.0.1:${port}" list
  expect "a method by reflection" 0 'rpc Append \( .quorum.v1.AppendRequest \)' -- \
    "127.0.0.1:${port}" describe quorum.v1.LogService.Append
  for name in "" quorum.v1.LogService quorum.v1.AdminService; do
    expect "health of \"${name}\", by reflection" 0 '"status": "SERVING"' -- \
      -d "{\"service\":\"${name}\"}" "127.0.0.1:${port}" grpc.health.v1.Health/Check
  done
  expect "an unknown topic, with ErrorInfo decoded" "$(exit_of NOT_FOUND)" 'Code: NotFound' \
    '"domain": ?"quorum.v1"' '"reason": ?"UNKNOWN_TOPIC_OR_PARTITION"' '"outcome": ?"refused"' -- \
    -d "${record/orders/nowhere}" "127.0.0.1:${port}" quorum.v1.LogService/Append
  expect "a missing partition, with BadRequest decoded" "$(exit_of INVALID_ARGUMENT)" \
    '"field": ?"partition"' '"reason": ?"INVALID_REQUEST"' -- \
    -d "${record/\"partition\":0,/}" "127.0.0.1:${port}" quorum.v1.LogService/Append
  expect "what is not there yet says so" "$(exit_of UNIMPLEMENTED)" '"NOT_IMPLEMENTED"' \
    'This version' -- -d '{}' "127.0.0.1:${port}" quorum.v1.AdminService/AddVoter
  expect "the quorum, zeros included" 0 '"partition": 0' '"leaderId": [123]' '"currentVoters"' \
    '"role": "REPLICA_ROLE_LEADER"' -- -d '{"topics":[{"topic":"orders","partitions":[0]}]}' \
    "127.0.0.1:${port}" quorum.v1.AdminService/DescribeQuorum
}

# --- docs/api.md ---

# Against a new cluster, so that topics and offsets are those of the document.
run_api_examples() {
  local output="${scratch}/output" ok_count failed_count
  ./dev down --wipe >/dev/null 2>&1
  if ! ./dev up --detach --base-port="${base_port}" >"${output}" 2>&1; then
    bad "api.md: a new cluster" "$(cat "${output}")"
    return
  fi
  /usr/bin/python3 -B tests/integration/api_examples.py "${grpcurl}" "${base_port}" docs/api.md \
    2>&1 | tee "${output}"
  if [[ "$(tail -n 1 "${output}")" =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    ok_count="${BASH_REMATCH[1]}" failed_count="${BASH_REMATCH[2]}"
    passed=$((passed + ok_count))
    failed=$((failed + failed_count))
  else
    bad "api.md: the examples" "they did not run to their end"
  fi
}

# Leaves the cluster running.
run_readme
run_grpcurl
run_api_examples
((failed == 0))
