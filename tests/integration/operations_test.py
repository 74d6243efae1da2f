"""Runs the commands of docs/operations.md from top to bottom, as an operator would, in one shell.

usage: operations_test.py QUORUMD QUORUMCTL

The ports are those of the document, so the test needs a network of its own: a namespace.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import case_report
import generated_stubs

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
# No block waits for longer.
# The whole script, with every start and stop of the document; no single wait is that long.
SCRIPT_LIMIT_SECONDS = 240
# What the test cannot do: it would install into the machine.
NOT_RUN = re.compile(r"^\./dev |^install ", re.MULTILINE)


def enter_namespaces():
    """Starts this program again where all ports are free and its children end with it."""
    if os.environ.get("QUORUM_OPERATIONS") == "1":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    command = ["unshare", "--net", "--pid", "--fork", "--kill-child"]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    environment = dict(os.environ, QUORUM_OPERATIONS="1")
    os.execvpe("unshare", command + [sys.executable, "-B"] + sys.argv, environment)


def blocks():
    """(commands, expected lines) of each indented block that can be run."""
    path = os.path.join(generated_stubs.ROOT, "docs", "operations.md")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        lines = [line[4:] for line in block.splitlines()]
        commands = "\n".join(line for line in lines if not line.startswith("#"))
        if not NOT_RUN.search(commands):
            yield commands, [line[2:] for line in lines if line.startswith("#")]


class OperationsTest(unittest.TestCase):
    def test_the_commands_of_the_document(self):
        with tempfile.TemporaryDirectory() as folder:
            bin_folder = os.path.join(folder, "bin")
            os.mkdir(bin_folder)
            for program in PROGRAMS:
                os.symlink(program, os.path.join(bin_folder, os.path.basename(program)))
            script = os.path.join(folder, "script")
            outputs = []
            with open(script, "w", encoding="utf-8") as stream:
                # A block that fails ends the shell, and with it the test.
                stream.write("set -e -o pipefail\n")
                for number, (commands, _) in enumerate(blocks()):
                    outputs.append(os.path.join(folder, f"output{number}"))
                    # Braces, not a shell of its own: variables and processes stay.
                    stream.write(f"{{\n{commands}\n}} >{outputs[-1]} 2>&1 </dev/null\n")
            self.run_script(script, folder, bin_folder)
            self.assertGreater(len(outputs), 8)
            for (commands, expected), path in zip(blocks(), outputs):
                printed = self.text(path)
                for line in expected:
                    self.assertIn(line, printed, commands)

    def run_script(self, script, folder, bin_folder):
        environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}")
        environment.pop("QUORUM_BOOTSTRAP", None)
        done = subprocess.run(
            ["bash", script], cwd=folder, env=environment, timeout=SCRIPT_LIMIT_SECONDS, check=False
        )
        if done.returncode != 0:
            for name in sorted(os.listdir(folder)):
                if name.startswith("output") or name.endswith(".log"):
                    print(f"--- {name}:\n" + "\n".join(
                        self.text(os.path.join(folder, name)).splitlines()[-15:]))
        self.assertEqual(done.returncode, 0)

    @staticmethod
    def text(path):
        with open(path, encoding="utf-8") as stream:
            return stream.read()


if __name__ == "__main__":
    enter_namespaces()
    case_report.main()
