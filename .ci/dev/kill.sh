#!/bin/bash
# ./dev kill N: ends node N as a crash would (SIGKILL). ./dev start N brings it back.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=.ci/dev/cluster.bash
source "${QUORUM_ROOT}/.ci/dev/cluster.bash"

if (($# != 1)); then
  echo "usage: ./dev kill N" >&2
  exit 2
fi
require_node "$1"
pid="$(node_pid "$1")" || die "node $1 does not run"
kill -KILL "${pid}"
while alive "$1"; do sleep 0.02; done
rm -f "$(node_dir "$1")/pid"
echo "dev: node $1 is killed; ./dev start $1 brings it back"
