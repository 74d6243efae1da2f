#!/bin/bash
# Prints the path of grpcurl at a pinned version, and makes it first when it is missing: with the
# ordinary Go client, which checks it against Go's checksum database. About a minute, once per
# machine. Debian has no grpcurl.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

folder="$(dirname "${GRPCURL}")"

if [[ ! -x "${GRPCURL}" ]]; then
  # shellcheck disable=SC2046 # One word a package.
  ensure_packages $(grpcurl_packages) >&2
  echo "dev: installing grpcurl ${GRPCURL_VERSION} into ${folder}" >&2
  mkdir -p "${folder}"
  new="$(mktemp -d "${folder}/new.XXXXXX")"
  trap 'rm -rf "${new}"' EXIT
  (cd "${new}" && GOBIN="${new}" GOFLAGS="" go install -ldflags='-s -w' \
    "github.com/fullstorydev/grpcurl/cmd/grpcurl@${GRPCURL_VERSION}") >&2 ||
    die "go could not install grpcurl"
  # At once, so that nobody meets half a program.
  mv "${new}/grpcurl" "${GRPCURL}"
fi
echo "${GRPCURL}"
