"""client/service_config.json with plain generated stubs: reads find a node that answers, and no
append is ever sent twice.

usage: service_config_test.py QUORUMD
"""

import collections
import concurrent.futures
import os
import sys
import tempfile
import threading
import unittest

import grpc

import case_report
import generated_stubs
from local_cluster import WAIT_SECONDS, LocalCluster, wait_until

QUORUMD = sys.argv[1]
with open(os.path.join(generated_stubs.ROOT, "client", "service_config.json")) as CONFIG_FILE:
    SERVICE_CONFIG = CONFIG_FILE.read()
SCRATCH = tempfile.TemporaryDirectory()
generated_stubs.make(os.path.join(SCRATCH.name, "stubs"))

# pylint: disable=wrong-import-position
from google.protobuf import json_format, struct_pb2
from quorum.v1 import admin_pb2, admin_pb2_grpc, log_pb2, log_pb2_grpc
from quorum.v1 import observer_pb2, observer_pb2_grpc, record_pb2

TOPIC = "orders"
ATTEMPTS = 5
READS = {"Tail", "ListOffsets", "ListTopics", "DescribeTopic", "DescribeQuorum", "DescribeCluster"}
READS |= {"Metadata"}


def channel_to(target):
    return grpc.insecure_channel(
        target,
        [("grpc.service_config", SERVICE_CONFIG), ("grpc.use_local_subchannel_pool", 1)],
    )


def append_request(value):
    return log_pb2.AppendRequest(
        topic=TOPIC, partition=0, records=[record_pb2.Record(value=value)]
    )


def read_calls(channel):
    """Every read, as functions that fail when the call does."""
    log = log_pb2_grpc.LogServiceStub(channel)
    admin = admin_pb2_grpc.AdminServiceStub(channel)
    observer = observer_pb2_grpc.ObserverServiceStub(channel)
    tail = log_pb2.TailRequest(topic=TOPIC, partition=0, earliest=True, until_high_watermark=True)
    offsets = log_pb2.ListOffsetsRequest(topics=[log_pb2.ListOffsetsRequest.Topic(topic=TOPIC)])
    quorum = admin_pb2.DescribeQuorumRequest(
        topics=[admin_pb2.DescribeQuorumRequest.Topic(topic=TOPIC)]
    )
    return {
        "Tail": lambda: list(log.Tail(tail)),
        "ListOffsets": lambda: log.ListOffsets(offsets),
        "ListTopics": lambda: admin.ListTopics(admin_pb2.ListTopicsRequest()),
        "DescribeTopic": lambda: admin.DescribeTopic(admin_pb2.DescribeTopicRequest(name=TOPIC)),
        "DescribeQuorum": lambda: admin.DescribeQuorum(quorum),
        "DescribeCluster": lambda: admin.DescribeCluster(admin_pb2.DescribeClusterRequest()),
        "Metadata": lambda: observer.Metadata(observer_pb2.MetadataRequest()),
    }


def write_calls(channel):
    log = log_pb2_grpc.LogServiceStub(channel)
    admin = admin_pb2_grpc.AdminServiceStub(channel)
    return {
        "Append": lambda: log.Append(append_request(b"once")),
        "AppendBatch": lambda: log.AppendBatch(log_pb2.AppendBatchRequest()),
        "InitProducer": lambda: log.InitProducer(log_pb2.InitProducerRequest()),
        "CreateTopic": lambda: admin.CreateTopic(admin_pb2.CreateTopicRequest()),
        "DeleteTopic": lambda: admin.DeleteTopic(admin_pb2.DeleteTopicRequest()),
        "AlterQuorum": lambda: admin.AlterQuorum(admin_pb2.AlterQuorumRequest()),
        "AddVoter": lambda: admin.AddVoter(admin_pb2.AddVoterRequest()),
        "RemoveVoter": lambda: admin.RemoveVoter(admin_pb2.RemoveVoterRequest()),
        "ElectLeader": lambda: admin.ElectLeader(admin_pb2.ElectLeaderRequest()),
        "AllocateProducerIds": lambda: admin.AllocateProducerIds(
            admin_pb2.AllocateProducerIdsRequest()
        ),
    }


class Unavailable(grpc.GenericRpcHandler):
    """A server that counts calls by method and answers UNAVAILABLE to all of them."""

    def __init__(self):
        self.calls = collections.Counter()
        self._lock = threading.Lock()
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, handler_call_details):
        name = handler_call_details.method.rsplit("/", 1)[1]
        if "Health" in handler_call_details.method:
            return None
        with self._lock:
            self.calls[name] += 1

        def refuse(_, context):
            context.abort(grpc.StatusCode.UNAVAILABLE, "away")

        return grpc.unary_unary_rpc_method_handler(refuse)

    def stop(self):
        self._server.stop(None).wait()


class CountedTest(unittest.TestCase):
    """How often a call is sent, as a server that is never available counts it."""

    def setUp(self):
        self.server = Unavailable()
        self.channel = channel_to(self.server.address)

    def tearDown(self):
        self.channel.close()
        self.server.stop()

    def count(self, calls):
        """Makes all calls at once, because the pauses between attempts add up."""
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            for outcome in [pool.submit(call) for call in calls.values()]:
                error = outcome.exception()
                self.assertIsInstance(error, grpc.RpcError)
                self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
        return dict(self.server.calls)

    def test_reads_are_tried_again(self):
        calls = read_calls(self.channel)
        self.assertEqual(self.count(calls), {name: ATTEMPTS for name in READS})

    def test_whatever_changes_something_is_sent_once(self):
        calls = write_calls(self.channel)
        self.assertEqual(self.count(calls), {name: 1 for name in calls})

    def test_every_call_of_a_client_is_in_the_config(self):
        config = json_format.MessageToDict(json_format.Parse(SERVICE_CONFIG, struct_pb2.Struct()))
        named = collections.Counter(
            (name["service"], name["method"])
            for method in config["methodConfig"]
            for name in method["name"]
        )
        services = [log_pb2.DESCRIPTOR.services_by_name["LogService"]]
        services += [admin_pb2.DESCRIPTOR.services_by_name["AdminService"]]
        there = {(service.full_name, method.name) for service in services for method in
                 service.methods}
        there.add(("quorum.v1.ObserverService", "Metadata"))
        self.assertEqual(named, collections.Counter(there))
        self.assertEqual({method for _, method in there}, READS | set(write_calls(self.channel)))


class ClusterTest(unittest.TestCase):
    """One channel to all nodes of a real cluster, while nodes are killed."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.cluster = LocalCluster(QUORUMD, self.folder.name)
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(self.cluster.__exit__)
        self.cluster.start()
        self.cluster.create_topic(TOPIC)
        self.channel = channel_to(self.cluster.target)
        self.addCleanup(self.channel.close)
        self.log = log_pb2_grpc.LogServiceStub(self.channel)

    def test_reads_find_the_leader_of_the_moment(self):
        self.log.Append(append_request(b"first"))
        for _ in range(2):
            leader, epoch = self.cluster.leader(TOPIC, 0)
            self.cluster.kill(leader)
            calls = read_calls(self.channel)
            # At once, while connections break and an election runs, then with the new leader.
            for name in READS:
                calls[name]()
            self.cluster.leader(TOPIC, 0, epoch)
            for _ in range(3):
                offsets = calls["ListOffsets"]().topics[0].partitions[0]
                self.assertFalse(offsets.HasField("error"), offsets)
                self.assertGreaterEqual(offsets.latest_offset, 1)
            self.cluster.start()

    def append_until(self, stop, worker, outcomes):
        number = 0
        while not stop.is_set():
            value = b"%d.%d" % (worker, number)
            number += 1
            try:
                outcomes[value] = self.log.Append(append_request(value)).base_offset
            except grpc.RpcError:
                outcomes[value] = None

    def test_no_append_is_in_the_log_twice(self):
        stop = threading.Event()
        outcomes = {}
        workers = [
            threading.Thread(target=self.append_until, args=(stop, worker, outcomes))
            for worker in range(8)
        ]
        for worker in workers:
            worker.start()
        try:
            for _ in range(3):
                before = len(outcomes)
                wait_until("appends go on", lambda: len(outcomes) > before + 50)
                leader, _ = self.cluster.leader(TOPIC, 0)
                self.cluster.kill(leader)
                before = len(outcomes)
                wait_until("appends go on", lambda: len(outcomes) > before + 50)
                self.cluster.start()
        finally:
            stop.set()
            for worker in workers:
                worker.join()
        self.check(outcomes)

    def check(self, outcomes):
        request = log_pb2.TailRequest(
            topic=TOPIC, partition=0, earliest=True, until_high_watermark=True
        )
        # A record that goes last makes sure that the watermark is at the end.
        end = self.log.Append(append_request(b"end"), timeout=WAIT_SECONDS).base_offset
        found = {}
        while b"end" not in found:
            found.clear()
            for message in self.log.Tail(request):
                for batch in message.records.batches:
                    for record in batch.records:
                        self.assertNotIn(record.value, found)
                        found[record.value] = batch.base_offset + record.offset_delta
        self.assertEqual(found.pop(b"end"), end)
        acknowledged = {value: offset for value, offset in outcomes.items() if offset is not None}
        self.assertEqual({value: found[value] for value in acknowledged}, acknowledged)
        self.assertLessEqual(set(found), set(outcomes))


if __name__ == "__main__":
    case_report.main()
