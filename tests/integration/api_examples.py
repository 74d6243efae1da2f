"""Runs the examples of docs/api.md against a cluster, in order, and compares their answers.

usage: api_examples.py GRPCURL BASE_PORT DOCUMENT

An example is an indented block: a command, then what it answers behind `#`. Prints a line per
example, and at last "N passed, N failed". A call that has no example is a failure, too.
"""

import json
import os
import re
import subprocess
import sys

LIMIT_SECONDS = 30
SERVICES = ["quorum.v1.LogService", "quorum.v1.AdminService"]
# Numbers that are the same in every run.
EXACT = {"partition", "partitionCount", "replicaCount", "offsetDelta", "recordCount", "code"}
EXACT |= {"laneCount", "count"}
ADDRESS_OR_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\w.]+:\d+")


def blocks(text):
    """(command, expected answer) of each indented block that calls grpcurl."""
    for block in re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", text, re.MULTILINE):
        for part in re.split(r"\n\n", block):
            lines = [line[4:] for line in part.splitlines()]
            command = "\n".join(line for line in lines if not line.startswith("#"))
            answer = "\n".join(line[1:] for line in lines if line.startswith("#"))
            if command.startswith("grpcurl "):
                yield command, answer.strip()


def json_documents(text):
    decoder = json.JSONDecoder()
    documents = []
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        documents.append(document)
        text = text.lstrip()[end:]
    return documents


def missing_from(expected, actual, path="answer"):
    """What of the expected answer is not in the actual one; empty when all is."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{path} is {actual!r}"
        for key, value in expected.items():
            if key not in actual:
                return f"{path}.{key} is missing"
            missing = missing_from(value, actual[key], f"{path}.{key}")
            if missing:
                return missing
        return ""
    if isinstance(expected, list):
        return missing_elements(expected, actual, path)
    return "" if scalars_match(expected, actual, path) else f"{path} is {actual!r}"


def missing_elements(expected, actual, path):
    """Elements are found in their order; there may be others between them."""
    position = 0
    for element in expected:
        why = [missing_from(element, other, path) for other in actual[position:]]
        if "" not in why:
            return f"{path}: no element is {json.dumps(element)}; {why[:1]}"
        position += why.index("") + 1
    return ""


def scalars_match(expected, actual, path):
    if expected == actual:
        return True
    if type(expected) is not type(actual) or path.rsplit(".", 1)[-1] in EXACT:
        return False
    if isinstance(expected, bool):
        return False
    if isinstance(expected, int):
        return True
    if expected == "..." or (expected.isdigit() and actual.isdigit()):
        return True
    return bool(ADDRESS_OR_ID.fullmatch(expected) and ADDRESS_OR_ID.fullmatch(actual))


def judge(answer, done):
    """What is wrong with what the command did; empty when nothing is."""
    printed = done.stdout.decode()
    failure = re.match(r"exit (\d+): (\w+) ?(.*)", answer)
    if failure:
        if done.returncode != int(failure.group(1)):
            return f"exit {done.returncode}: {printed}"
        said = re.sub(r"\s", "", printed)
        wanted = [f'"reason":"{failure.group(2)}"', re.sub(r"\s", "", failure.group(3))]
        return "" if all(text in said for text in wanted) else printed
    if done.returncode != 0:
        return f"exit {done.returncode}: {printed}"
    if not answer:
        return "the example does not say what is answered"
    missing = missing_from(json_documents(answer), json_documents(printed))
    return missing and f"{missing}\n{printed}"


def run(grpcurl, base_port, command):
    for node in range(3):
        command = command.replace(f"127.0.0.1:{7101 + node}", f"127.0.0.1:{base_port + node}")
    path = os.path.dirname(os.path.abspath(grpcurl)) + ":" + os.environ["PATH"]
    return subprocess.run(
        ["bash", "-c", command], env=dict(os.environ, PATH=path), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False,
    )


def main():
    grpcurl, base_port, document = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(document, encoding="utf-8") as stream:
        examples = list(blocks(stream.read()))
    failed = passed = 0

    def verdict(name, wrong):
        nonlocal failed, passed
        print(f"  FAIL  {name}\n{wrong}" if wrong else f"  ok    {name}", flush=True)
        failed, passed = failed + bool(wrong), passed + (not wrong)

    for command, answer in examples:
        call = re.search(r"\S+/\w+", command.rsplit("127.0.0.1", 1)[1])
        wrong = judge(answer, run(grpcurl, base_port, command))
        verdict(f"api.md: {call.group() if call else command}", wrong and f"{command}\n{wrong}")
    for service in SERVICES:
        listed = run(grpcurl, base_port, f"grpcurl -plaintext 127.0.0.1:7101 list {service}")
        for name in listed.stdout.decode().split():
            call = "/".join(name.rsplit(".", 1))
            shown = any(command.rstrip().endswith(call) for command, _ in examples)
            verdict(f"api.md shows {call}", "" if shown else "no example calls it")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
