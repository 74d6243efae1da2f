#!/bin/bash
# Runs a script with the system's Python; Bazel 4's own Python rules would need a repository from
# the network.
set -eu
exec /usr/bin/python3 -B "$@"
