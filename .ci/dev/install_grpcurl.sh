#!/bin/bash
# Prints the path of grpcurl at a pinned version, and makes it first when it is missing: with the
# ordinary Go client, which checks it against Go's checksum database. About a minute, once per
# machine. Debian has no grpcurl.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# The newest one that Debian's Go 1.19 compiles.
version=v1.9.1
folder="${QUORUM_TOOLS}/grpcurl-${version}"

if [[ ! -x "${folder}/grpcurl" ]]; then
  command -v go >/dev/null || ensure_packages golang-go ca-certificates >&2
  echo "dev: installing grpcurl ${version} into ${folder}" >&2
  mkdir -p "${folder}"
  new="$(mktemp -d "${folder}/new.XXXXXX")"
  trap 'rm -rf "${new}"' EXIT
  (cd "${new}" && GOBIN="${new}" GOFLAGS="" go install -ldflags='-s -w' \
    "github.com/fullstorydev/grpcurl/cmd/grpcurl@${version}") >&2 ||
    die "go could not install grpcurl"
  # At once, so that nobody meets half a program.
  mv "${new}/grpcurl" "${folder}/grpcurl"
fi
echo "${folder}/grpcurl"
