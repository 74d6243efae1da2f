"""What ./dev up and its neighbours promise beyond the README, whose commands command_line_test.sh
runs: dead nodes only, ports of others, Ctrl-C, wrong flags, missing packages.

Clusters lie in folders of their own and on free ports, so that nobody's cluster is met.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import case_report
from local_cluster import WAIT_SECONDS, free_port, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
NODES = (1, 2, 3)


def free_base_port():
    """Ports for three nodes and their pages."""
    while True:
        base = free_port()
        wanted = [base + page + node for page in (0, 100) for node in range(len(NODES))]
        sockets = [socket.socket() for _ in wanted]
        try:
            for probe, port in zip(sockets, wanted):
                probe.bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
        finally:
            for probe in sockets:
                probe.close()


class DevCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.folder = os.path.join(self.scratch, "cluster")
        self.base_port = free_base_port()
        self.environment = dict(os.environ, QUORUM_CLUSTER_DIR=self.folder)
        self.environment.pop("QUORUM_BOOTSTRAP", None)

    def dev(self, *words, code=0):
        """Runs ./dev, checks its exit code, and returns all that it says."""
        done = subprocess.run(
            [os.path.join(ROOT, "dev"), *words], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            # What builds is limited by nothing but itself.
            timeout=None if words[0] == "up" else WAIT_SECONDS,
        )
        said = done.stdout.decode()
        self.assertEqual(done.returncode, code, f"./dev {' '.join(words)}: {said}")
        return said

    def up(self, *flags, code=0):
        return self.dev("up", "--detach", f"--base-port={self.base_port}", *flags, code=code)

    def start_cluster(self):
        self.addCleanup(self.dev, "down", "--wipe")
        said = self.up()
        self.dev("ctl", "topic", "create", "orders", "--partitions=1", "--replicas=3")
        self.dev("ctl", "append", "orders:0", "kept")
        return said

    def assert_record_is_there(self):
        self.assertIn("kept", self.dev("ctl", "tail", "orders:0", "--until-end"))

    def read(self, *names):
        with open(os.path.join(self.folder, *names), encoding="utf-8") as stream:
            return stream.read()

    def pid(self, node):
        """The pid of a node that runs, or None."""
        try:
            pid = int(self.read(f"node{node}", "pid").split()[0])
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return None
        return pid

    def starts(self, node):
        return self.read(f"node{node}", "log").count("] serving node=")


class SecondUpTest(DevCase):
    def test_starts_dead_nodes_only_keeps_data_and_founds_nothing_again(self):
        said = self.start_cluster()
        self.assertRegex(said, r"(?m)^dev: building; ")
        self.assertRegex(said, r"(?m)^dev: serving after \d+\.\d seconds$")
        before = {node: self.pid(node) for node in NODES}
        cluster = self.read("cluster")
        self.dev("kill", "2")
        said = self.up()
        self.assertIn(f"dev: node 1 runs already (pid {before[1]})", said)
        self.assertIn(f"dev: node 3 runs already (pid {before[3]})", said)
        self.assertRegex(said, r"(?m)^dev: node 2 serves on ")
        self.assertEqual([self.pid(1), self.pid(3)], [before[1], before[3]])
        self.assertNotEqual(self.pid(2), before[2])
        self.assertEqual([self.starts(node) for node in NODES], [1, 2, 1])
        self.assertEqual(self.read("cluster"), cluster)
        self.assertIn("] ready node=2 ", self.dev("logs", "2"))
        self.assert_record_is_there()

        self.dev("down")
        self.assertEqual([self.pid(node) for node in NODES], [None] * 3)
        shutil.rmtree(os.path.join(self.folder, "node2", "data"))
        said = self.up(code=1)
        self.assertIn("node 2 has lost its data, and a blank disk is never founded again", said)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "node2", "data")))
        # The other two are a majority, and have what was there.
        self.assert_record_is_there()

        said = self.dev("up", "--detach", f"--base-port={self.base_port + 1000}", code=1)
        self.assertIn(f"has the base port {self.base_port} for good", said)

        self.assertIn("deleted", self.dev("down", "--wipe"))
        self.assertFalse(os.path.exists(self.folder))
        self.assertEqual(self.dev("down"), "dev: there is no cluster\n")


class ForegroundTest(DevCase):
    def test_shows_leader_changes_and_exits_and_restarts_nothing_until_ctrl_c(self):
        self.addCleanup(self.dev, "down", "--wipe")
        output = os.path.join(self.scratch, "output")

        def said():
            with open(output, encoding="utf-8") as stream:
                return stream.read()

        with open(output, "wb") as stream:
            running = subprocess.Popen(
                [os.path.join(ROOT, "dev"), "up", f"--base-port={self.base_port}"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=stream,
                stderr=subprocess.STDOUT, start_new_session=True,
                # A shell that starts this test in the background has it ignored.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        # The build comes first, and nothing but itself limits it.
        wait_until("the cluster serves", lambda: "leader changes follow" in said(), seconds=600)
        self.dev("ctl", "topic", "create", "orders", "--partitions=1", "--replicas=3")
        self.dev("ctl", "append", "orders:0", "kept")

        described = self.dev("ctl", "quorum", "describe", "orders:0", "-o", "json")
        victim = re.search(r'"leaderId":(\d+)', described).group(1)
        known = said().count(" Leader hw=")
        self.dev("kill", victim)
        wait_until("the exit is shown", lambda: (
            f"dev: node {victim} has ended; ./dev start {victim} brings it back\n" in said()
        ))
        wait_until("a leader change is shown", lambda: said().count(" Leader hw=") > known)
        self.assertIsNone(self.pid(int(victim)))
        self.assertEqual(self.starts(victim), 1)
        self.dev("start", victim)
        wait_until("the return is shown", lambda: f"dev: node {victim} runs again\n" in said())
        self.assertEqual(self.starts(victim), 2)

        # What a terminal does: everybody in its group gets the signal, and nodes are not in it.
        os.killpg(running.pid, signal.SIGINT)
        self.assertEqual(running.wait(WAIT_SECONDS), 0, said())
        self.assertIn("dev: handing over and stopping; the data stay", said())
        for node in NODES:
            self.assertIsNone(self.pid(node))
            ends = self.read(f"node{node}", "log").split("] serving node=")[-1]
            self.assertIn("] stopping on signal 15", ends)
            self.assertRegex(ends, r"\] stopped\n$")
        self.up()
        self.assert_record_is_there()


class PortTest(DevCase):
    def test_a_foreign_process_on_a_port_is_named(self):
        self.addCleanup(self.dev, "down", "--wipe")
        # A node's own port, and that of its pages.
        for port in (self.base_port + 1, self.base_port + 102):
            with socket.socket() as foreign:
                foreign.bind(("127.0.0.1", port))
                foreign.listen()
                said = self.up(code=1)
            node = (port - self.base_port) % 100 + 1
            self.assertRegex(said, rf"port {port}, which node {node} needs, belongs to "
                                   rf"python3\S* \(pid {os.getpid()}\)")
            self.assertIn(f"./dev up --base-port={self.base_port + 1000} takes others", said)
            self.assertFalse(os.path.exists(self.folder))


class PidTest(DevCase):
    def test_a_pid_that_somebody_else_has_by_now_is_no_node(self):
        foreign = subprocess.Popen(["sleep", "600"])
        self.addCleanup(foreign.wait)
        self.addCleanup(foreign.kill)
        os.makedirs(os.path.join(self.folder, "node1"))
        with open(os.path.join(self.folder, "cluster"), "w", encoding="utf-8") as stream:
            stream.write(f"base_port={self.base_port}\nnodes=1\n")
        with open(os.path.join(self.folder, "node1", "pid"), "w", encoding="utf-8") as stream:
            stream.write(f"{foreign.pid} 1\n")
        self.assertIn("node 1 does not run", self.dev("kill", "1", code=1))
        self.dev("down", "--wipe")
        self.assertIsNone(foreign.poll())


class FlagsTest(DevCase):
    def test_wrong_flags_are_explained_and_change_nothing(self):
        for words, explanation in (
            (["up", "--nodes=0"], "--nodes is 1 to 9"),
            (["up", "--nodes=10"], "--nodes is 1 to 9"),
            (["up", "--nodes=many"], "--nodes is 1 to 9"),
            (["up", "--base-port=1"], "--base-port is 1024 to 65000"),
            (["up", "--base-port=65001"], "--base-port is 1024 to 65000"),
            (["up", "--base-port="], "--base-port is 1024 to 65000"),
            (["up", "--restart"], "up does not take --restart"),
            (["up", "now"], "up does not take now"),
            (["down", "--all"], "usage: ./dev down [--wipe]"),
            (["kill"], "usage: ./dev kill N"),
            (["start", "1", "2"], "usage: ./dev start N"),
            (["logs"], "usage: ./dev logs N [-f]"),
            (["test", "--quick"], "usage: ./dev test [--fast]"),
            (["destroy"], "unknown verb: destroy"),
        ):
            with self.subTest(words):
                self.assertIn(explanation, self.dev(*words, code=2))
        self.assertFalse(os.path.exists(self.folder))


class PackagesTest(DevCase):
    """On a machine that lacks packages, for a user who is not root and has no terminal."""

    MISSING = ("lld", "python3-pip", "ca-certificates", "npm", "golang-go")

    def run_without_packages(self, *words):
        # Where anybody may read it: the clone itself may be below a folder of root's.
        tree = os.path.join(self.scratch, "tree")
        programs = os.path.join(self.scratch, "programs")
        shutil.copytree(os.path.join(ROOT, ".ci"), os.path.join(tree, ".ci"))
        shutil.copy(os.path.join(ROOT, "dev"), tree)
        os.mkdir(programs)
        with open(os.path.join(programs, "dpkg-query"), "w", encoding="utf-8") as stream:
            stream.write('#!/bin/bash\nfor name in "${@:4}"; do\n'
                         f'  [[ " {" ".join(self.MISSING)} " == *" ${{name}} "* ]] ||\n'
                         '    echo -n "installed=${name} "\ndone\n')
        os.chmod(os.path.join(programs, "dpkg-query"), 0o755)
        os.chmod(self.scratch, 0o755)
        self.environment.update(PATH=f"{programs}:/usr/bin:/bin", HOME=self.scratch)
        self.environment.pop("XDG_CACHE_HOME", None)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return subprocess.run(
            (user if os.geteuid() == 0 else []) + [os.path.join(tree, "dev"), *words],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False,
        )

    def packages_of_the_line(self, done):
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 2, said)
        install = "apt-get update && apt-get install -y --no-install-recommends "
        lines = re.findall(rf"(?m)^{re.escape(install)}(.*)$", said)
        self.assertEqual(len(lines), 1, said)
        return lines[0].split()

    def test_up_prints_the_line_and_exits_with_2(self):
        self.assertEqual(self.packages_of_the_line(self.run_without_packages("up")), ["lld"])

    def test_test_asks_for_everything_in_one_line(self):
        wanted = {"lld", "python3-pip", "ca-certificates"}
        # Another npm or Go than Debian's is as good.
        wanted |= {package for package, program in (("npm", "npm"), ("golang-go", "go"))
                   if shutil.which(program, path="/usr/bin:/bin") is None}
        packages = self.packages_of_the_line(self.run_without_packages("test"))
        self.assertEqual(sorted(packages), sorted(wanted))


if __name__ == "__main__":
    case_report.main()
