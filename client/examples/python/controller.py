"""A controller that keeps its decisions in a partition: takes over from its predecessor, learns all
decisions so far, and makes one of each line of standard input, "KEY VALUE".

usage: controller.py TARGET TOPIC PARTITION NAME
Exit code 3: a successor has taken over; it knows every decision that was made here.
"""

import sys

import grpc

import quorum_log
from quorum.v1 import record_pb2


def take_over(log, topic, partition, producer):
    """All decisions of predecessors, by key. Our first record ends what can come from them."""
    start = producer.append([record_pb2.Record(key=b"in-charge")])
    decisions = {}
    for offset, record in quorum_log.follow(log, topic, partition):
        if offset == start:
            return decisions
        decisions[record.key] = record.value
    raise AssertionError("a tail does not end")


def main():
    target, topic, partition, name = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    log = quorum_log.connect(target)
    # From here on, appends of whoever had the name before are refused, however late they arrive.
    producer = quorum_log.Producer(log, topic, partition, name)
    try:
        decisions = take_over(log, topic, partition, producer)
        print("in charge, knows", len(decisions), flush=True)
        for line in sys.stdin.buffer:
            key, value = line.split(None, 1)
            offset = producer.append([record_pb2.Record(key=key, value=value.strip())])
            decisions[key] = value.strip()
            print("decided at", offset, flush=True)
    except grpc.RpcError as error:
        if quorum_log.refusal(error) != "PRODUCER_FENCED":
            raise
        print("a successor is in charge", flush=True)
        sys.exit(3)


if __name__ == "__main__":
    main()
