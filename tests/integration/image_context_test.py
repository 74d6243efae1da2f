"""What deploy/Dockerfile builds, with the files that Docker would hand it and no others: a copy of
the tree without what deploy/Dockerfile.dockerignore leaves out.

Bazel loads and analyses the targets there, and every source file of theirs must be in the copy.
Compiling it is what every other build does.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import case_report

# Behind the symbolic links of Bazel lies the whole tree.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as stream:
        return stream.read()


def ignored_names():
    """The patterns, which may name what lies at the top only."""
    patterns = [line for line in read("deploy", "Dockerfile.dockerignore").split("\n")
                if line and not line.startswith("#")]
    assert not any(re.search(r"[/!]", pattern) for pattern in patterns), patterns
    return patterns


class ImageContextTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.context = os.path.join(self.scratch, "context")
        os.mkdir(self.context)
        for name in os.listdir(ROOT):
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in ignored_names()):
                continue
            source, target = os.path.join(ROOT, name), os.path.join(self.context, name)
            copy = shutil.copytree if os.path.isdir(source) else shutil.copy
            copy(source, target)
        self.dockerfile = read("deploy", "Dockerfile")

    def bazel(self, *words):
        """Runs Bazel in the copy, without a server, and returns what it prints."""
        done = subprocess.run(
            ["bazel", "--batch", f"--output_user_root={self.scratch}/bazel", *words],
            cwd=self.context, env={"PATH": "/usr/bin:/bin", "HOME": self.scratch},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def test_targets_need_nothing_that_is_left_out(self):
        targets = re.search(r"^RUN \./dev build (//[^\\]+?) *\\$", self.dockerfile, re.MULTILINE)
        targets = targets.group(1).split()
        self.assertTrue(os.access(os.path.join(self.context, "dev"), os.X_OK))
        self.bazel("build", "--nobuild", "--", *targets)
        sources = self.bazel("query", "--noshow_progress",
                             f"kind('source file', deps({' + '.join(targets)}))").split()
        sources = [label[2:].replace(":", "/").lstrip("/")
                   for label in sources if label.startswith("//")]
        self.assertGreater(len(sources), 300)
        missing = [path for path in sources
                   if not os.path.exists(os.path.join(self.context, path))]
        self.assertEqual(missing, [])

    def test_copied_files_are_there(self):
        for source in re.findall(r"^COPY (?!--from)(\S+) ", self.dockerfile, re.MULTILINE):
            self.assertTrue(os.path.exists(os.path.join(self.context, source)), source)


if __name__ == "__main__":
    case_report.main()
