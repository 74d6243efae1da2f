"""Appends the lines of standard input to a partition, each exactly once, whatever fails meanwhile.

usage: append.py TARGET TOPIC PARTITION <lines
"""

import sys

import quorum_log
from quorum.v1 import record_pb2


def main():
    target, topic, partition = sys.argv[1], sys.argv[2], int(sys.argv[3])
    producer = quorum_log.Producer(quorum_log.connect(target), topic, partition)
    for line in sys.stdin.buffer:
        offset = producer.append([record_pb2.Record(value=line.rstrip(b"\n"))])
        print(offset, flush=True)


if __name__ == "__main__":
    main()
