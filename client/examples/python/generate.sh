#!/bin/bash
# Generates the Python stubs of the schemas into FOLDER, with Debian's protobuf-compiler and
# protobuf-compiler-grpc: generate.sh FOLDER, then put FOLDER into PYTHONPATH.
set -euo pipefail

folder="$1"
schemas="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../proto" && pwd)"
mkdir -p "${folder}"
mapfile -t protos < <(cd "${schemas}" && ls quorum/v1/*.proto google/rpc/*.proto)
cd "${schemas}"
exec protoc -I . -I /usr/include --python_out="${folder}" --grpc_python_out="${folder}" \
  --plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin "${protos[@]}"
