#!/usr/bin/python3 -B
"""Counts the test cases of Bazel test targets: count_cases.py --since=TIME [--tags=EXPR] PATTERN...

Prints "passed failed skipped". The patterns and the tags are Bazel's. A target without a test.xml
that is as new as TIME did not run (it did not build, say) and is one failed case.
"""

import argparse
import glob
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


def targets(patterns, tags):
    """Labels of the tests that `bazel test --test_tag_filters=TAGS PATTERNS` runs."""
    query = " + ".join(f"tests({p})" for p in patterns if not p.startswith("-"))
    query = " except ".join([f"({query})"] + [f"tests({p[1:]})" for p in patterns if p[0] == "-"])
    for tag in filter(None, tags.split(",")):
        word = tag.lstrip("-")
        matching = f"attr(tags, '[\\[ ]{word}[,\\]]', {query})"
        query = f"({query}) except {matching}" if tag.startswith("-") else matching
    query = f"({query}) except attr(tags, '[\\[ ]manual[,\\]]', {query})"
    command = ["bazel", "query", "--noshow_progress", "--ui_event_filters=-info", "--keep_going"]
    listed = subprocess.run(command + [query], stdout=subprocess.PIPE, check=False)
    return listed.stdout.decode().split()


def count_file(path):
    """(passed, failed, skipped) of one test.xml."""
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except ElementTree.ParseError:
        return 0, 1, 0
    failed = skipped = 0
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
    return len(cases) - failed - skipped, failed, skipped


def count_target(label, since):
    """(passed, failed, skipped) of one target, all shards together."""
    folder = os.path.join("bazel-testlogs", label.lstrip("/").replace(":", "/"))
    reports = glob.glob(os.path.join(folder, "test.xml"))
    reports += glob.glob(os.path.join(folder, "shard_*", "test.xml"))
    fresh = [path for path in reports if os.path.getmtime(path) >= since]
    counts = [count_file(path) for path in fresh]
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 1, 0)
    # A program that ran and holds no case tests nothing.
    return (passed, failed, skipped) if passed + failed + skipped else (0, 1, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", type=float, required=True)
    parser.add_argument("--tags", default="")
    parser.add_argument("patterns", nargs="+")
    options, rest = parser.parse_known_args()
    # Patterns that start with a minus exclude.
    patterns = options.patterns + [argument for argument in rest if argument != "--"]
    total = [0, 0, 0]
    for label in targets(patterns, options.tags):
        counts = count_target(label, options.since)
        if counts[1]:
            print(f"  failed: {label} ({counts[1]} of {sum(counts)} cases)", file=sys.stderr)
        total = [a + b for a, b in zip(total, counts)]
    print(*total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
