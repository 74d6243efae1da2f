"""deploy/Dockerfile against the programs that it packs: every library they load is installed.

usage: image_test.py QUORUMD QUORUMCTL
"""

import os
import re
import subprocess
import sys
import unittest

import case_report
import generated_stubs

PROGRAMS = sys.argv[1:3]
DOCKERFILE = os.path.join(generated_stubs.ROOT, "deploy", "Dockerfile")
# In every Debian image: its package manager needs them.
IN_THE_BASE = {"libc6", "libgcc-s1", "libstdc++6"}


def output(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.decode()


def owner(path):
    """The package of a file. Some are listed below /lib, which is a link to /usr/lib now."""
    path = os.path.realpath(path)
    for name in (path, path[len("/usr"):]):
        found = subprocess.run(
            ["dpkg", "-S", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        if found.returncode == 0:
            return found.stdout.decode().split(":")[0]
    raise AssertionError(f"no package has {path}")


def needed_packages():
    """Packages of the libraries that the programs name themselves."""
    packages = set()
    for program in PROGRAMS:
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program)))
        for name, path in re.findall(r"(\S+) => (\S+)", output("ldd", program)):
            if name in needed:
                packages.add(owner(path))
    return packages - IN_THE_BASE


class ImageTest(unittest.TestCase):
    def setUp(self):
        with open(DOCKERFILE, encoding="utf-8") as stream:
            self.stages = re.split(r"^FROM ", stream.read(), flags=re.MULTILINE)[1:]

    def test_installs_exactly_what_the_programs_load(self):
        install = re.search(r"--no-install-recommends \\\n((?: +\S+ \\\n)+)", self.stages[-1])
        self.assertEqual(set(re.findall(r"[^\s\\]+", install.group(1))), needed_packages())

    def test_runs_as_the_user_of_the_pods(self):
        path = os.path.join(generated_stubs.ROOT, "deploy", "kubernetes", "statefulset.yaml")
        with open(path, encoding="utf-8") as stream:
            user = re.search(r"runAsUser: (\d+)", stream.read()).group(1)
        self.assertIn(f"\nUSER {user}:{user}\n", self.stages[-1])


if __name__ == "__main__":
    case_report.main()
