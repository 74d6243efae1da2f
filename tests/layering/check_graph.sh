#!/bin/bash
# check_graph.sh GRAPH [--forbid=PATTERN] TARGET... -- PATTERN...: fails if GRAPH, a file of
# labels, has one that no PATTERN matches entirely or that the forbidden one matches, or lacks a
# TARGET (then the query was wrong, and an empty answer would pass).
set -euo pipefail

graph="$1"
shift
forbidden=""
if [[ "$1" == --forbid=* ]]; then
  forbidden="${1#--forbid=}"
  shift
fi
targets=()
while [[ "$1" != -- ]]; do
  targets+=("$1")
  shift
done
shift

# Everything links these, and they are no dependency of ours.
patterns=('@system//:threads' '//third_party[:/].*')
for pattern in "$@"; do
  patterns+=("${pattern}")
done
expression="^($(
  IFS='|'
  echo "${patterns[*]}"
))\$"

for target in "${targets[@]}"; do
  if ! grep -qxF -- "${target}" "${graph}"; then
    echo "the graph does not contain ${target}:"
    cat "${graph}"
    exit 1
  fi
done
if grep -vE -- "${expression}" "${graph}"; then
  echo "The labels above are no business of ${targets[*]} (docs/architecture.md, section 2)."
  exit 1
fi
if [[ -n "${forbidden}" ]] && grep -xE -- "${forbidden}" "${graph}"; then
  echo "The labels above belong to tests, not to ${targets[*]}."
  exit 1
fi
