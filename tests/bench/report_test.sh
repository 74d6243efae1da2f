#!/bin/bash
# Runs the test with the system's Python, as tests/tidy does.
set -eu
exec /usr/bin/python3 -B tests/bench/report_test.py
