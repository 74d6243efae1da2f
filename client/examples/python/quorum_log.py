"""What a Python program needs beside the generated stubs: a channel, an append that happens once,
and a tail that does not end. Copy it, and change it as you like.

Depends on grpcio and protobuf. `generate.sh` makes the stubs.
"""

import pathlib
import time

import grpc
from google.rpc import error_details_pb2, status_pb2
from quorum.v1 import log_pb2, log_pb2_grpc

SERVICE_CONFIG = pathlib.Path(__file__).resolve().parents[2] / "service_config.json"
# Refused for now: the same append may do better in a moment.
FOR_NOW = {"NOT_LEADER", "LEADER_NOT_AVAILABLE", "THROTTLED", "SHUTTING_DOWN", "STORAGE_FAILED"}
FOR_NOW |= {"REQUEST_TIMED_OUT"}


def connect(target):
    """A stub over all nodes: "ipv4:127.0.0.1:7101,127.0.0.1:7102" or "dns:///quorum.demo.svc:7101"."""
    options = [("grpc.service_config", SERVICE_CONFIG.read_text())]
    return log_pb2_grpc.LogServiceStub(grpc.insecure_channel(target, options))


def refusal(error):
    """Why a failed append is not in the log and never will be; None when its outcome is unknown."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info) and info.domain == "quorum.v1":
                    return info.reason if info.metadata["outcome"] == "refused" else None
    return None


class Producer:
    """Appends to one partition, each batch exactly once, one at a time.

    With a name it shuts out whoever used the name before: their appends fail with PRODUCER_FENCED.
    """

    def __init__(self, log, topic, partition, name="", patience=60):
        self._log, self._topic, self._partition = log, topic, partition
        # Seconds that an append is tried for.
        self._patience = patience
        # An id without a name is for any partition.
        place = {"topic": topic, "partition": partition} if name else {}
        self._identity = log.InitProducer(log_pb2.InitProducerRequest(name=name, **place))
        self._sequence = 0

    def append(self, records):
        """The offset of the first record. Sends again until the fate is known: the stamp tells the
        leader that it is the same batch. Fails when the append is refused for good, or when
        patience is over. If its fate is unknown by then, this producer appends nothing more:
        another batch under the same stamp could be taken for that one."""
        if self._sequence is None:
            raise RuntimeError("the fate of an append is unknown: make a new producer")
        stamp = log_pb2.ProducerStamp(
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            base_sequence=self._sequence,
        )
        request = log_pb2.AppendRequest(
            topic=self._topic, partition=self._partition, records=records, producer=stamp
        )
        deadline = time.monotonic() + self._patience
        unknown = False
        while True:
            try:
                offset = self._log.Append(request).base_offset
                self._sequence += len(records)
                return offset
            except grpc.RpcError as error:
                reason = refusal(error)
                unknown |= reason is None
                if reason not in FOR_NOW | {None} or time.monotonic() > deadline:
                    if unknown:
                        self._sequence = None
                    raise
            time.sleep(0.1)


def follow(log, topic, partition, offset=0):
    """Yields (offset, record) of all that is and will be committed, without gap and repeat."""
    while True:
        request = log_pb2.TailRequest(topic=topic, partition=partition, offset=offset)
        try:
            for message in log.Tail(request):
                for batch in message.records.batches:
                    for record in batch.records:
                        yield batch.base_offset + record.offset_delta, record
                if message.HasField("records"):
                    offset = message.records.next_offset
        except grpc.RpcError as error:
            # The process that served the stream is gone; another one goes on where it ended.
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
        time.sleep(0.1)
