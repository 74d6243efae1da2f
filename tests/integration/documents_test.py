"""What the documents say of the code: links lead somewhere, the tests behind the guarantees exist,
and the table of errors is that of the schema."""

import glob
import os
import re
import unittest

import case_report

# Behind the symbolic links of Bazel lies the whole tree.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)[^)]*\)")
CODES = {
    "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
    "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        return stream.read()


def has_case(path, name):
    """Whether a file of tests has the case: by its name, that of its suite, the invariant that it
    reports, or the kind of violation that it shows to be found."""
    case = rf"\bTEST(?:_F|_P)?\((?:\w+,\s*{name}|{name},\s*\w+)\)|^ *def {name}\("
    reported = rf"\bReport\(\"{name}\"|\w+::{name}\b" if re.match(r"[A-Z]\d|k[A-Z]", name) else None
    return any(pattern and re.search(pattern, read(path), re.MULTILINE)
               for pattern in (case, reported))


def promises():
    """The bullets of guarantees.md, but for those that say what is not promised."""
    text = read("docs/guarantees.md").split("\n## What is not promised")[0]
    paragraphs = re.split(r"\n(?=\* |\n)", text)
    return [paragraph for paragraph in paragraphs if paragraph.startswith("* ")]


class GuaranteesTest(unittest.TestCase):
    def test_every_promise_names_a_test(self):
        self.assertGreater(len(promises()), 20)
        for promise in promises():
            self.assertTrue(LINK.search(promise), promise)

    def test_every_named_test_exists(self):
        for promise in promises():
            for words, target in LINK.findall(promise):
                path = os.path.normpath(os.path.join("docs", target))
                name, case = words.split()
                if name != "simulator":
                    self.assertEqual(name, os.path.splitext(os.path.basename(path))[0], words)
                self.assertTrue(has_case(path, case), f"{path} has no {case}")

    def test_a_test_that_is_gone_is_noticed(self):
        self.assertTrue(has_case("tests/integration/failover_test.cc", "AllKilledAtOnce"))
        self.assertFalse(has_case("tests/integration/failover_test.cc", "AllKilledAtOnc"))
        # A word of its code is no case.
        self.assertFalse(has_case("tests/integration/failover_test.cc", "AwaitAcks"))


class LinksTest(unittest.TestCase):
    def test_links_lead_to_files(self):
        documents = ["README.md", "deploy/README.md", "proto/README.md"]
        documents += [os.path.relpath(path, ROOT) for path in glob.glob(f"{ROOT}/docs/**/*.md",
                                                                        recursive=True)]
        for document in documents:
            for _, target in LINK.findall(read(document)):
                if "://" not in target:
                    path = os.path.join(ROOT, os.path.dirname(document), target)
                    self.assertTrue(os.path.exists(path), f"{document}: {target}")


    def test_named_paths_exist(self):
        documents = ["README.md", "deploy/README.md", "client/examples/python/README.md"]
        documents += ["docs/api.md", "docs/guarantees.md", "docs/operations.md"]
        for document in documents:
            for path in re.findall(r"`((?:client|deploy|proto|tests)/[\w./-]+)`", read(document)):
                there = [os.path.exists(os.path.join(ROOT, path + end)) for end in ("", ".py")]
                self.assertTrue(any(there), f"{document}: {path}")


class OperationsTest(unittest.TestCase):
    def test_metrics_with_an_alarm_exist(self):
        metrics = set(re.findall(r'"((?:quorum|process)_\w+)"', read("service/server/metrics.cc")))
        named = set(re.findall(r"\b((?:quorum|process)_\w+)", read("docs/operations.md")))
        self.assertGreater(len(named), 8)
        self.assertLessEqual(named, metrics)

    def test_flags_exist(self):
        text = read("service/server/flags.cc")
        flags = set(re.findall(r"(?:DEFINE_\w+|QUORUM_NUMBER_FLAG)\((\w+),", text)) | {"flagfile"}
        for document in ("docs/operations.md", "deploy/README.md"):
            table = read(document)
            named = re.findall(r"`--([a-z-]+)", table)
            self.assertTrue(named)
            self.assertLessEqual({name.replace("-", "_") for name in named}, flags, document)


class BadInputTest(unittest.TestCase):
    def test_every_token_of_the_daemon_is_listed(self):
        tokens = set()
        for header in ("storage/layout/store_error.h", "service/server/exit.h"):
            found = re.findall(r'constexpr char k\w+\[\] = "([A-Z_]+)";', read(header))
            self.assertGreater(len(found), 6, header)
            tokens |= set(found)
        listed = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)*\b", read("docs/bad-input.md")))
        self.assertLessEqual(tokens, listed)


class ErrorsTest(unittest.TestCase):
    def test_the_table_of_errors_is_that_of_the_schema(self):
        schema = read("proto/quorum/v1/error.proto").split("enum ErrorReason {")[1]
        wanted = {}
        for comment, reason in re.findall(
            r"((?:  // .*\n)+)  ERROR_REASON_(\w+) = [1-9]\d*;", schema
        ):
            wanted[reason] = set(re.findall(r"[A-Z_]{5,}", comment.split(":")[0])) & CODES
        rows = re.findall(r"^\| ([A-Z_]+) \| ([A-Z_, ]+) \|", read("docs/api.md"), re.MULTILINE)
        self.assertEqual({reason: set(codes.split(", ")) for reason, codes in rows}, wanted)


if __name__ == "__main__":
    case_report.main()
