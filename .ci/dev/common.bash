# Shared by the verbs of ./dev; sourced, not run. Sets QUORUM_ROOT and enters it.
# shellcheck shell=bash disable=SC2034

QUORUM_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "${QUORUM_ROOT}" || exit 1
export HOME="${HOME:-/root}"
# Tools at pinned versions live outside the clone, so that every clone shares them.
QUORUM_TOOLS="${XDG_CACHE_HOME:-${HOME}/.cache}/quorum-tools"

# What compiles and links the product and its tests. docs/dependencies.md has a line about each.
BUILD_PACKAGES=(
  bazel-bootstrap bazel-platforms bazel-rules-java bazel-rules-proto bazel-skylib
  clang libclang-rt-14-dev lld g++
  libabsl-dev libcivetweb-dev libcli11-dev libgflags-dev libgmock-dev libgoogle-glog-dev
  libgrpc++-dev libgtest-dev libisal-dev libprotobuf-dev librocksdb-dev
  nlohmann-json3-dev prometheus-cpp-dev
  grpc-proto protobuf-compiler protobuf-compiler-grpc
)
LINT_PACKAGES=(ca-certificates clang-format git python3 python3-yaml shellcheck)
# What the tests run beside our own programs.
TEST_PACKAGES=(curl iproute2 python3 python3-grpcio python3-protobuf python3-yaml)

# Programs that Debian does not have; install_hadolint.sh and install_grpcurl.sh make them.
HADOLINT_VERSION=2.15.1
HADOLINT="${QUORUM_TOOLS}/hadolint-${HADOLINT_VERSION}/hadolint"
# The newest one that Debian's Go 1.19 compiles.
GRPCURL_VERSION=v1.9.1
GRPCURL="${QUORUM_TOOLS}/grpcurl-${GRPCURL_VERSION}/grpcurl"

# Packages that lint, hadolint and grpcurl need and this machine has no other way to do without.
npm_packages() {
  command -v npm >/dev/null || echo npm
}
hadolint_packages() {
  [[ -x "${HADOLINT}" ]] || echo python3-pip ca-certificates
}
grpcurl_packages() {
  [[ ! -x "${GRPCURL}" ]] || return 0
  echo ca-certificates
  command -v go >/dev/null || echo golang-go
}

die() {
  echo "dev: $*" >&2
  exit 1
}

# Prints those of the named packages that are not installed.
missing_packages() {
  local installed
  installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' "$@" 2>/dev/null || true)"
  local package
  for package in "$@"; do
    [[ "${installed}" != *" installed=${package} "* ]] || continue
    echo "${package}"
    # A name may be given twice.
    installed+="installed=${package} "
  done
}

# Installs those of the named packages that are missing; costs some milliseconds when none is.
ensure_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if ((EUID == 0)); then
    echo "dev: installing ${#missing[@]} packages: ${missing[*]}" >&2
    apt_as_root "${install[@]}"
  elif [[ -t 0 && -t 2 ]] && command -v sudo >/dev/null; then
    echo "dev: sudo apt-get installs ${#missing[@]} packages: ${missing[*]}" >&2
    sudo apt-get update -qq && sudo DEBIAN_FRONTEND=noninteractive "${install[@]}"
  else
    echo "dev: packages are missing; as root, run:" >&2
    echo "apt-get update && ${install[*]}" >&2
    exit 2
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} == 0)) || die "apt-get did not install: ${missing[*]}"
}

apt_as_root() {
  local log
  log="$(mktemp)"
  if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive "$@" -qq; } >"${log}" 2>&1; then
    tail -n 20 "${log}" >&2
    rm -f "${log}"
    die "apt-get failed (above)"
  fi
  rm -f "${log}"
}

# Whether a Bazel package has the target, by its BUILD file alone: "tests/sim quorum_sim".
has_target() {
  [[ -f "$1/BUILD.bazel" ]] && grep -q "name = \"$2\"" "$1/BUILD.bazel"
}
