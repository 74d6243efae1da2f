"""Python stubs of our schemas, generated when a test runs: what `protoc` makes for every user.

    generated_stubs.make(folder)      # then: from quorum.v1 import log_pb2, log_pb2_grpc
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLUGIN = "/usr/bin/grpc_python_plugin"
# The standard health schema, compiled from its own folder: its package `grpc` would hide grpcio.
HEALTH = "/usr/share/grpc-proto/grpc/health/v1"


def _protoc(folder, roots, protos):
    command = ["protoc", f"--python_out={folder}", f"--grpc_python_out={folder}"]
    command += [f"--plugin=protoc-gen-grpc_python={PLUGIN}"]
    command += [word for root in roots for word in ("-I", root)]
    subprocess.run(command + protos, check=True)


def make(folder):
    """Generates into `folder`, which is put in front of the module path."""
    os.makedirs(folder, exist_ok=True)
    schemas = os.path.join(ROOT, "proto")
    protos = [
        os.path.join(place, name)
        for part in ("quorum/v1", "google/rpc")
        for place, _, names in os.walk(os.path.join(schemas, part))
        for name in names
        if name.endswith(".proto")
    ]
    _protoc(folder, [schemas, "/usr/include"], protos)
    _protoc(folder, [HEALTH], ["health.proto"])
    sys.path.insert(0, folder)
