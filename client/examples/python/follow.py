"""Prints offset and value of all records of a partition, those to come included.

usage: follow.py TARGET TOPIC PARTITION [OFFSET]
"""

import sys

import quorum_log


def main():
    target, topic, partition = sys.argv[1], sys.argv[2], int(sys.argv[3])
    offset = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    for place, record in quorum_log.follow(quorum_log.connect(target), topic, partition, offset):
        print(place, record.value.decode(), flush=True)


if __name__ == "__main__":
    main()
