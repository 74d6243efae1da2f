"""A cluster of real quorumd processes on 127.0.0.1 for tests in Python.

    with LocalCluster(quorumd, folder) as cluster:
        cluster.start()
        cluster.create_topic("orders", 3)
        leader, epoch = cluster.leader("orders", 0)
        cluster.kill(leader)

`generated_stubs.make` must have run before.
"""

import os
import random
import socket
import subprocess
import time
import uuid

import grpc

# No wait of a test is longer.
WAIT_SECONDS = 30
CLUSTER_ID = "test"
# Half the defaults: failovers are most of what the tests wait for.
QUICK = ["--election-timeout-ms=500", "--fetch-timeout-ms=1000", "--request-timeout-ms=1000"]
QUICK += ["--fetch-max-wait-ms=250"]


def wait_until(what, condition, seconds=WAIT_SECONDS, pause=0.02):
    """Waits until the condition returns something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(pause)


def free_port():
    """A port that nobody listens at; below those that outgoing connections take."""
    while True:
        port = random.randrange(11000, 30000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class LocalCluster:
    """Nodes by number, from 1."""

    def __init__(self, quorumd, folder, nodes=3):
        self.quorumd = os.path.abspath(quorumd)
        self.folder = folder
        self.addresses = {}
        self.processes = {}
        directories = {}
        for node in range(1, nodes + 1):
            self.addresses[node] = f"127.0.0.1:{free_port()}"
            directories[node] = str(uuid.uuid4())
        voters = ",".join(
            f"{node}@{address}:{directories[node]}" for node, address in self.addresses.items()
        )
        for node in self.addresses:
            words = self._words("format", node)
            words += [f"--directory-id={directories[node]}", f"--initial-voters={voters}"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _words(self, verb, node):
        return [self.quorumd, verb, f"--data-dir={self.folder}/data{node}",
                f"--cluster-id={CLUSTER_ID}", f"--node-id={node}"]

    @property
    def target(self):
        """All nodes as one gRPC target."""
        return "ipv4:" + ",".join(self.addresses.values())

    def log(self, node):
        return os.path.join(self.folder, f"log{node}")

    # --- processes ---

    def start(self):
        """Starts what does not run, and waits until all are ready."""
        for node in self.addresses:
            if node not in self.processes:
                self.start_node(node)
        for node in self.addresses:
            self.await_ready(node)

    def start_node(self, node):
        words = self._words("serve", node) + QUICK
        words += [f"--listen-address={self.addresses[node]}"]
        words += ["--bootstrap=" + ",".join(self.addresses.values())]
        with open(self.log(node), "ab") as log:
            self.processes[node] = subprocess.Popen(words, stdout=log, stderr=log)

    def kill(self, node):
        """kill -9."""
        process = self.processes.pop(node)
        process.kill()
        process.wait()

    def terminate(self, node):
        """SIGTERM; returns the exit code."""
        process = self.processes.pop(node)
        process.terminate()
        return process.wait(WAIT_SECONDS)

    def show_logs(self):
        for node in self.addresses:
            if os.path.exists(self.log(node)):
                with open(self.log(node), encoding="utf-8") as stream:
                    print(f"--- node {node}:\n" + "".join(stream.readlines()[-15:]))

    # --- questions, by way of one node ---

    def await_ready(self, node):
        import health_pb2
        import health_pb2_grpc

        request = health_pb2.HealthCheckRequest(service="readiness")

        def ready():
            process = self.processes[node]
            assert process.poll() is None, f"node {node} ended with {process.returncode}"
            with self.channel(node) as channel:
                try:
                    answer = health_pb2_grpc.HealthStub(channel).Check(request, timeout=2)
                except grpc.RpcError:
                    return False
                return answer.status == health_pb2.HealthCheckResponse.SERVING

        wait_until(f"node {node} is ready", ready)

    def channel(self, node):
        options = [("grpc.use_local_subchannel_pool", 1)]
        return grpc.insecure_channel(self.addresses[node], options)

    def create_topic(self, name, partitions=1, replicas=3):
        from quorum.v1 import admin_pb2, admin_pb2_grpc

        request = admin_pb2.CreateTopicRequest(
            name=name, partitions=partitions, replicas=replicas
        )
        with self.channel(next(iter(self.processes))) as channel:
            admin_pb2_grpc.AdminServiceStub(channel).CreateTopic(request, timeout=WAIT_SECONDS)
        for partition in range(partitions):
            self.leader(name, partition)

    def leader(self, topic, partition, after_epoch=0):
        """(node, epoch) of a leader above the epoch that has committed in its epoch."""
        from quorum.v1 import admin_pb2, admin_pb2_grpc

        request = admin_pb2.DescribeQuorumRequest(
            topics=[admin_pb2.DescribeQuorumRequest.Topic(topic=topic, partitions=[partition])]
        )

        def known():
            with self.channel(next(iter(self.processes))) as channel:
                stub = admin_pb2_grpc.AdminServiceStub(channel)
                try:
                    answer = stub.DescribeQuorum(request, timeout=2).topics[0]
                except grpc.RpcError:
                    return None
            for quorum in answer.partitions:
                if quorum.HasField("leader_id") and quorum.HasField("high_watermark"):
                    if quorum.leader_epoch > after_epoch and quorum.leader_id in self.processes:
                        return quorum.leader_id, quorum.leader_epoch
            return None

        return wait_until(f"{topic}:{partition} is led", known)
