"""The manifests of deploy/kubernetes, lived through: first start, restarts, rolling update, a lost
volume, scale-up. The scripts, command lines, probes and rights are those of the YAML (pods.py).

usage: kubernetes_test.py QUORUMD QUORUMCTL
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import pods

pods.enter_namespaces()

# pylint: disable=wrong-import-position
import grpc

import case_report
import generated_stubs

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
DEPLOY = os.path.join(generated_stubs.ROOT, "deploy")
TOPIC = "orders"


def check_health(address, service):
    """What a gRPC probe does: a connection of its own, one call."""
    import health_pb2
    import health_pb2_grpc

    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=2)
        except grpc.RpcError as error:
            # A name that the node does not know is a mistake in the manifest.
            assert error.code() != grpc.StatusCode.NOT_FOUND, service
            return False
        return answer.status == health_pb2.HealthCheckResponse.SERVING


class KubernetesTest(unittest.TestCase):
    """Steps of one cluster's life, in the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        generated_stubs.make(os.path.join(cls.scratch.name, "stubs"))
        cls.manifests = pods.Manifests(os.path.join(DEPLOY, "kubernetes"))
        cls.kubelet = pods.Kubelet(
            cls.scratch.name,
            cls.manifests,
            os.path.join(DEPLOY, "Dockerfile"),
            PROGRAMS,
            check_health,
        )
        cls.kubelet.scale(cls.kubelet.stateful_set["spec"]["replicas"])
        cls.founders = dict(cls.kubelet.pods)
        cls.appended = 0

    @classmethod
    def tearDownClass(cls):
        for pod in cls.kubelet.pods.values():
            if pod.process is not None:
                pod.kill()
        cls.kubelet.remove_roots()
        cls.scratch.cleanup()

    def tearDown(self):
        failures = self._outcome.result.failures + self._outcome.result.errors
        if any(test is self for test, _ in failures):
            for pod in self.kubelet.pods.values():
                self.show_log(pod)

    @staticmethod
    def show_log(pod):
        if os.path.exists(pod.log):
            with open(pod.log, encoding="utf-8") as stream:
                print(f"--- {pod.name}:\n" + "".join(stream.readlines()[-15:]))

    def await_all_ready(self):
        for pod in self.kubelet.pods.values():
            pod.await_ready()

    def append(self, pod):
        """Appends one record by way of a pod, as soon as the cluster takes it."""
        from quorum.v1 import log_pb2, log_pb2_grpc, record_pb2

        request = log_pb2.AppendRequest(
            topic=TOPIC, partition=0, records=[record_pb2.Record(value=b"v%d" % self.appended)]
        )
        with grpc.insecure_channel(f"{pod.address}:7101") as channel:
            answer = log_pb2_grpc.LogServiceStub(channel).Append(request, timeout=30)
        type(self).appended += 1
        self.assertGreaterEqual(answer.base_offset, self.appended - 1)

    def values(self, pod):
        from quorum.v1 import log_pb2, log_pb2_grpc

        request = log_pb2.TailRequest(
            topic=TOPIC, partition=0, earliest=True, max_records=self.appended
        )
        with grpc.insecure_channel(f"{pod.address}:7101") as channel:
            stream = log_pb2_grpc.LogServiceStub(channel).Tail(request, timeout=30)
            return [
                record.value
                for message in stream
                for batch in message.records.batches
                for record in batch.records
            ]

    def node_line(self, pod):
        """What `quorumd dump node` says of the volume of a stopped pod."""
        words = [PROGRAMS[0], "dump", "node", f"--data-dir={pod.volume}/data"]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.decode()

    def test_1_first_start_founds_the_cluster(self):
        founders = self.manifests.get("ConfigMap", "quorum-founding")["data"]["founders"]
        ids = dict(line.split() for line in founders.splitlines())
        for pod in self.founders.values():
            printed = pod.start()
            self.assertRegex(printed, "^formatted: ")
            self.assertIn(f"directory_id={ids[str(pod.index)]}", printed)
        self.await_all_ready()

    def test_2_any_pod_takes_an_append_and_a_read(self):
        from quorum.v1 import admin_pb2, admin_pb2_grpc

        first = self.founders[1]
        with grpc.insecure_channel(f"{first.address}:7101") as channel:
            admin_pb2_grpc.AdminServiceStub(channel).CreateTopic(
                admin_pb2.CreateTopicRequest(name=TOPIC, partitions=1, replicas=3), timeout=30
            )
        for pod in self.founders.values():
            self.append(pod)
        for pod in self.founders.values():
            self.assertEqual(self.values(pod), [b"v0", b"v1", b"v2"])

    def test_2_quorumctl_works_inside_of_a_pod(self):
        printed = self.founders[1].execute("quorumctl", "cluster", "describe")
        for pod in self.founders.values():
            self.assertIn(f"{pod.name}.quorum-peers.{pods.NAMESPACE}.svc:7101", printed)

    def test_2_container_is_confined(self):
        pod = self.founders[1]
        places = "/usr /etc /tmp /var/lib/quorum"
        write = f"for place in {places}; do echo > $place/x && echo $place; done"
        printed = pod.execute("sh", "-c", f"({write}) 2>/dev/null; rm -f /var/lib/quorum/x")
        self.assertEqual(printed.split(), ["/var/lib/quorum"])
        if self.kubelet.may_change_user():
            user = self.kubelet.pod_spec["securityContext"]["runAsUser"]
            self.assertEqual(pod.execute("id", "-u").strip(), str(user))

    def test_3_rolling_update_hands_over_and_makes_nothing_anew(self):
        for index in sorted(self.founders, reverse=True):
            pod = self.founders[index]
            old_address = pod.address
            self.assertEqual(pod.delete(), 0)
            # One of three is away: the cluster serves.
            self.append(self.founders[index % 3 + 1])
            self.assertRegex(pod.start(), "^already formatted, nothing changed: ")
            self.assertNotEqual(pod.address, old_address)
            pod.await_ready()
            self.append(pod)

    def test_4_killed_pod_comes_back(self):
        pod = self.founders[2]
        pod.kill()
        self.append(self.founders[1])
        pod.start()
        pod.await_ready()
        self.assertEqual(len(self.values(pod)), self.appended)

    def test_5_blank_volume_is_not_founded_again(self):
        """Why founding.yaml is to be deleted: the id would come back without its votes."""
        pod = self.founders[3]
        self.assertEqual(pod.delete(), 0)
        pod.new_volume()
        self.assertRegex(pod.start(), "^formatted: ")
        self.assertEqual(pod.await_exit(), 3)
        with open(pod.log, encoding="utf-8") as stream:
            self.assertIn("FATAL reason=FENCED", stream.read())
        self.append(self.founders[1])

    def test_6_blank_volume_joins_without_founding(self):
        del self.manifests.objects["ConfigMap", "quorum-founding"]
        pod = self.founders[3]
        pod.new_volume()
        self.assertRegex(pod.start(), "^formatted: ")
        pod.await_ready()
        self.append(pod)
        self.assertEqual(pod.delete(), 0)
        self.assertNotIn("b94a1f0d-52f1-4bfb-b9ce-21d0c9b7ad03", self.node_line(pod))
        pod.start()
        pod.await_ready()

    def test_7_founders_need_founding_once_only(self):
        for pod in self.founders.values():
            self.assertEqual(pod.delete(), 0)
        for pod in self.founders.values():
            self.assertRegex(pod.start(), "^already formatted, nothing changed: ")
        self.await_all_ready()
        self.append(self.founders[1])

    def test_8_scale_up_joins(self):
        self.kubelet.scale(4)
        pod = self.kubelet.pods[4]
        self.assertRegex(pod.start(), "^formatted: ")
        pod.await_ready()
        self.append(pod)
        self.assertEqual(len(self.values(pod)), self.appended)

    def test_9_grace_period_holds_a_hand_over(self):
        shown = subprocess.run([PROGRAMS[0], "--help"], check=True, stdout=subprocess.PIPE).stdout
        hand_over = re.search(r"--shutdown-timeout-ms \(int64, default (\d+)\)", shown.decode())
        grace = self.kubelet.pod_spec["terminationGracePeriodSeconds"]
        self.assertGreaterEqual(grace, 2 * int(hand_over.group(1)) / 1000)


if __name__ == "__main__":
    case_report.main()
