"""The programs of client/examples/python as processes of their own, while nodes are killed.

usage: python_examples_test.py QUORUMD
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import grpc

import case_report
import generated_stubs
from local_cluster import WAIT_SECONDS, LocalCluster, wait_until

QUORUMD = sys.argv[1]
EXAMPLES = os.path.join(generated_stubs.ROOT, "client", "examples", "python")
SCRATCH = tempfile.TemporaryDirectory()
STUBS = os.path.join(SCRATCH.name, "stubs")
# What a user runs; health, which the cluster asks for, is made beside it.
subprocess.run([os.path.join(EXAMPLES, "generate.sh"), STUBS], check=True)
generated_stubs.make(os.path.join(SCRATCH.name, "all"))

TOPIC = "orders"


class Program:
    """One of the examples. Its lines are read as they come."""

    def __init__(self, name, *arguments):
        self.lines = []
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-B", os.path.join(EXAMPLES, name), *arguments],
            env=dict(os.environ, PYTHONPATH=STUBS), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.decode().rstrip("\n"))

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def await_lines(self, count):
        wait_until(f"{count} lines, not {len(self.lines)}", lambda: len(self.lines) >= count)

    def end(self):
        """Ends its input, and returns its exit code."""
        self.process.stdin.close()
        code = self.process.wait(WAIT_SECONDS)
        self._reader.join()
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


class PythonExamplesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cluster = LocalCluster(QUORUMD, self.folder.name)
        self.addCleanup(self.cluster.__exit__)
        self.cluster.start()
        self.cluster.create_topic(TOPIC)

    def program(self, name, *arguments):
        made = Program(name, self.cluster.target, TOPIC, "0", *arguments)
        self.addCleanup(made.kill)
        return made

    def kill_leader(self):
        leader, epoch = self.cluster.leader(TOPIC, 0)
        self.cluster.kill(leader)
        return epoch

    def test_lines_are_appended_once_and_followed_through_kills(self):
        follower = self.program("follow.py")
        appender = self.program("append.py")
        sent = []
        for _ in range(3):
            for _ in range(40):
                sent.append(f"line {len(sent)}")
                appender.say(sent[-1])
            # In the midst of the appends, and under the stream of the follower.
            appender.await_lines(len(sent) - 30)
            epoch = self.kill_leader()
            appender.await_lines(len(sent))
            self.cluster.leader(TOPIC, 0, epoch)
            self.cluster.start()
        self.assertEqual(appender.end(), 0)
        follower.await_lines(len(sent))
        self.assertEqual([line.split(" ", 1)[1] for line in follower.lines], sent)
        self.assertEqual([line.split(" ", 1)[0] for line in follower.lines], appender.lines)

    def test_follower_goes_on_at_an_offset(self):
        appender = self.program("append.py")
        for number in range(3):
            appender.say(f"line {number}")
        appender.await_lines(3)
        follower = self.program("follow.py", appender.lines[1])
        follower.await_lines(2)
        self.assertEqual([line.split(" ", 1)[1] for line in follower.lines], ["line 1", "line 2"])

    def test_successor_fences_a_controller_that_was_paused(self):
        old = self.program("controller.py", "scheduler")
        old.await_lines(1)
        self.assertEqual(old.lines[0], "in charge, knows 0")
        old.say("shard-1 node-a")
        old.await_lines(2)
        old.process.send_signal(signal.SIGSTOP)
        new = self.program("controller.py", "scheduler")
        new.await_lines(1)
        # What the predecessor has decided, and its own first record.
        self.assertEqual(new.lines[0], "in charge, knows 2")
        self.kill_leader()
        new.say("shard-1 node-b")
        new.await_lines(2)
        # The old one wakes up with a decision in its hand.
        old.say("shard-1 node-c")
        old.process.send_signal(signal.SIGCONT)
        self.assertEqual(old.end(), 3)
        self.assertEqual(old.lines[-1], "a successor is in charge")
        new.say("shard-2 node-b")
        new.await_lines(3)
        self.assertEqual(new.end(), 0)
        follower = self.program("follow.py")
        follower.await_lines(5)
        decided = [line.split(" ", 1)[1] for line in follower.lines]
        self.assertEqual(decided, ["", "node-a", "", "node-b", "node-b"])


class LostAnswer(grpc.RpcError):
    """What a call fails with when nobody says why."""

    def trailing_metadata(self):
        return ()


class UnknownFateTest(unittest.TestCase):
    def test_producer_with_an_unknown_append_appends_nothing_more(self):
        sys.path += [STUBS, EXAMPLES]
        import quorum_log
        from quorum.v1 import record_pb2

        class SilentLog:
            appends = 0

            def InitProducer(self, request):
                return quorum_log.log_pb2.InitProducerResponse(producer_id=7, producer_epoch=0)

            def Append(self, request):
                self.appends += 1
                raise LostAnswer()

        log = SilentLog()
        producer = quorum_log.Producer(log, TOPIC, 0, patience=0)
        with self.assertRaises(LostAnswer):
            producer.append([record_pb2.Record(value=b"one")])
        self.assertEqual(log.appends, 1)
        with self.assertRaises(RuntimeError):
            producer.append([record_pb2.Record(value=b"two")])
        self.assertEqual(log.appends, 1)


class ReadmeTest(unittest.TestCase):
    """The program of README.md, as it stands there, but for the addresses."""

    def run_program(self, cluster):
        with open(os.path.join(generated_stubs.ROOT, "README.md"), encoding="utf-8") as stream:
            found = re.search(r"(?ms)^    import grpc.*?^    print.*?$", stream.read())
        text = re.sub(r"(?m)^    ", "", found.group()).replace(
            "ipv4:127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103", cluster.target
        )
        self.assertIn(cluster.target, text)
        done = subprocess.run(
            ["/usr/bin/python3", "-c", text], cwd=generated_stubs.ROOT, check=True,
            env=dict(os.environ, PYTHONPATH=STUBS), stdout=subprocess.PIPE, timeout=WAIT_SECONDS,
        )
        return done.stdout.decode().split(" -> ")

    def test_controller_of_the_readme(self):
        with tempfile.TemporaryDirectory() as folder, LocalCluster(QUORUMD, folder) as cluster:
            cluster.start()
            cluster.create_topic(TOPIC)
            first = self.run_program(cluster)
            leader, epoch = cluster.leader(TOPIC, 0)
            cluster.kill(leader)
            second = self.run_program(cluster)
            cluster.leader(TOPIC, 0, epoch)
        self.assertEqual([first[0], second[0]], ["None", "b'node-b'"])
        self.assertGreater(int(second[1]), int(first[1]))


if __name__ == "__main__":
    case_report.main()
