#!/bin/bash
# What bash completes after the script of `quorumctl completion bash`.
# usage: completion_test.sh QUORUMCTL
set -uo pipefail

quorumctl="$1"
failed=0

# expect WANTED WORD...: the completions of the last word, as bash would ask for them.
expect() {
  local wanted="$1"
  shift
  COMP_WORDS=(quorumctl "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _quorumctl
  if [[ "${COMPREPLY[*]}" != "${wanted}" ]]; then
    echo "FAIL: after 'quorumctl $*': '${COMPREPLY[*]}', not '${wanted}'"
    failed=1
  fi
}

# shellcheck disable=SC1090
source <("${quorumctl}" completion bash)
expect "topic tail" t
expect "status" sta
expect "create delete list describe" topic ""
expect "create" topic cr
expect "--partitions=" topic create orders --pa
expect "--print-epoch" tail orders:0 --pr
expect "table json" topic list --output = ""
expect "json" topic list --output = j
expect "table json" topic list --output =
expect "--timeout=" topic list --ti
expect "" topic create orders
complete -p quorumctl >/dev/null || failed=1

# The one for zsh is only parsed, where there is a zsh.
if command -v zsh >/dev/null; then
  "${quorumctl}" completion zsh | zsh -n || failed=1
fi
exit "${failed}"
