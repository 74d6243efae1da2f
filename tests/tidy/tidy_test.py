"""Plants a violation of each rule, which must be found, and its innocent neighbour."""

import os
import sys
import unittest
from xml.sax.saxutils import quoteattr

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cpp_text  # noqa: E402 (the path above comes first)
import rules  # noqa: E402
import tidy  # noqa: E402


def found(path, text, sibling=""):
    """The set of rules that a file breaks."""
    return {rule for _, rule, _ in tidy.check_source(rules.Source(path, text, sibling))}


def body(lines):
    return "int F() {\n" + "  g += 1;\n" * (lines - 2) + "}\n"


class RulesTest(unittest.TestCase):
    def check(self, rule, path, bad, good, sibling=""):
        for text in bad:
            self.assertIn(rule, found(path, text, sibling), text)
        for text in good:
            self.assertNotIn(rule, found(path, text, sibling), text)

    def test_line_length(self):
        self.check("line_length", "a.cc", ["x" * 101], ["x" * 100, "// https://" + "x" * 100])
        self.check("line_length", "dev", ["x" * 101], ["x" * 100])

    def test_file_length(self):
        self.check("file_length", "a.cc", ["\n" * 601], ["\n" * 600])

    def test_file_size(self):
        self.check("file_size", "a.bin", ["x" * (256 * 1024 + 1)], ["x" * 256 * 1024])

    def test_function_length(self):
        self.check(
            "function_length",
            "a.cc",
            [
                body(71),
                "namespace a {\nclass B {\n" + body(71) + "};\n}\n",
                "TEST(A, B) {\n" + "x();\n" * 70 + "}\n",
                "A::A(int x)\n    : a_{x}, b_(x) {\n" + "x();\n" * 70 + "}\n",
                "void F() {\n  auto f = [] {\n" + "x();\n" * 70 + "  };\n}\n",
                "A operator=(A a) {\n" + "x();\n" * 70 + "}\n",
            ],
            [
                body(70),
                "namespace a {\n" + body(50) * 3 + "}\n",
                "class B {\n" + "int x_;\n" * 100 + "};\n",
                "constexpr int kTable[] = {\n" + "1,\n" * 100 + "};\n",
                "class CAPABILITY(x) Mutex {\n" + "int x_;\n" * 100 + "};\n",
            ],
        )

    def test_leftover(self):
        self.check("leftover", "a.md", ["TODO: later", "FIXME(bob)"], ["TODO(#12): later", "MTODO"])

    def test_pragma_once(self):
        bad = ["int x;", "#ifndef A\n#pragma once"]
        self.check("pragma_once", "a.h", bad, ["// A.\n#pragma once"])

    def test_layer_includes(self):
        for path, bad, good in [
            ("service/base/a.h", "service/raft/b.h", "service/base/b.h"),
            ("service/raft/a.h", "storage/api/b.h", "service/base/b.h"),
            ("service/raft/a.cc", "quorum/v1/record.pb.h", "service/raft/b.h"),
            ("storage/api/a.h", "service/raft/b.h", "service/base/b.h"),
            ("storage/rocksdb/a.cc", "storage/memory/b.h", "rocksdb/db.h"),
            ("storage/memory/a.cc", "rocksdb/db.h", "storage/api/b.h"),
            ("service/shard/a.cc", "grpcpp/grpcpp.h", "service/raft/b.h"),
            ("service/shard/a.cc", "storage/rocksdb/b.h", "storage/api/b.h"),
            ("service/controller/a.cc", "grpcpp/grpcpp.h", "quorum/v1/record.pb.h"),
            ("service/transport/a.cc", "storage/api/b.h", "grpcpp/grpcpp.h"),
            ("service/server/a.cc", "tests/sim/b.h", "storage/rocksdb/b.h"),
            ("client/a.cc", "service/raft/b.h", "quorum/v1/log.grpc.pb.h"),
        ]:
            self.check(
                "layer_includes",
                path,
                [f'#include "{bad}"\n', f"#include <{bad}>\n"],
                [f'#include "{good}"\n', f'// #include "{bad}"\n', "#include <vector>\n"],
            )

    def test_lock_free(self):
        self.check(
            "lock_free",
            "service/shard/a.cc",
            ["#include <mutex>\n", "Mutex mutex_;", '#include "service/base/mutex.h"\n'],
            ["// A mutex.\n", "int x;"],
        )
        self.assertNotIn("lock_free", found("service/transport/a.cc", "Mutex mutex_;"))

    def test_pure_core(self):
        self.check("pure_core", "service/raft/a.cc", ["#include <thread>\n"], ["#include <map>\n"])

    def test_switch_default(self):
        good = ["A() = default;", "// default: none", "kDefault:"]
        self.check("switch_default", "service/raft/a.cc", ["switch (x) {\n  default:\n}"], good)

    def test_hash_order(self):
        member = "std::unordered_map<Key, std::vector<int>> peers_;\n"
        loop = "for (auto& [key, value] : peers_) {}\n"
        self.check("hash_order", "service/shard/a.cc", [member + loop], [member, loop])
        self.check("hash_order", "service/shard/a.cc", [loop], [], sibling=member)
        self.check("hash_order", "service/shard/a.cc", [], ["std::map<int, int> peers_;\n" + loop])

    def test_banned_calls(self):
        for rule, bad, good in [
            ("clock", "std::chrono::steady_clock::now()", "clock.Now()"),
            ("clock", "absl::Now()", "event.time(0)"),
            ("clock", "time(nullptr)", "const Clock& clock"),
            ("chance", "rand()", "operand(1)"),
            ("chance", "std::random_device device;", "prng.rand()"),
            ("sleep", "std::this_thread::sleep_for(x)", "timer.sleep(1)"),
            ("sleep", "usleep(1)", "Sleeper(1)"),
            ("thread", "std::thread t(f);", "std::thread::id id;"),
            ("lock", "std::mutex m;", "Mutex m;"),
            ("lock", "absl::MutexLock lock(&m);", "MutexLock lock(m);"),
            ("assert", "assert(x)", "static_assert(x)"),
            ("exception", "throw Error();", "overthrow(x)"),
            ("exception", "try {", "retry {"),
            ("exception", "std::stoi(text)", "store(text)"),
            ("using_namespace", "using namespace std;", "namespace a = b::c;"),
        ]:
            innocent = [good, f"// {bad}\n", f'Log("{bad}");', f'R"x({bad})x"']
            self.check(rule, "service/base/a.cc", [bad], innocent)

    def test_every_rule_is_tested_here(self):
        tested = {name[len("test_") :] for name in dir(self) if name.startswith("test_")}
        self.assertEqual(set(rules.RULES) - set(rules.BANNED) - tested, set())


class TextTest(unittest.TestCase):
    def test_strip_keeps_lines_and_digit_separators(self):
        text = "int a = 1'000; /* x\ny */ char b = '\\''; // c\nint d = 2'0;"
        stripped = cpp_text.strip(text)
        self.assertEqual(stripped.count("\n"), text.count("\n"))
        self.assertEqual(len(stripped), len(text))
        self.assertIn("int a = 1'000;", stripped)
        self.assertIn("int d = 2'0;", stripped)
        self.assertNotIn("c", stripped.split("\n")[1].replace("char", ""))

    def test_functions_are_found_once_with_their_lines(self):
        code = "namespace a {\nint F(int x) {\n  if (x) {\n  }\n}\n"
        code += "#define M {\nA::A() : b_{1} {\n}\n}\n"
        spans = [(first, last) for first, last, _ in cpp_text.functions(code)]
        self.assertEqual(spans, [(2, 5), (7, 8)])


class TreeTest(unittest.TestCase):
    def run_tree(self, files):
        return {(path, rule) for path, _, rule, _ in tidy.check_tree(sorted(files), files.get)}

    def test_file_without_target_is_unlisted(self):
        files = {"a/BUILD.bazel": 'srcs = ["b.cc", "sub/c.cc"]', "a/b.cc": "", "a/sub/c.cc": ""}
        self.assertEqual(self.run_tree(files), set())
        files["a/d.cc"] = ""
        self.assertEqual(self.run_tree(files), {("a/d.cc", "unlisted")})

    def test_test_in_a_list_of_names_is_listed(self):
        files = {"a/BUILD.bazel": 'for name in ["b_test", "c"]', "a/b_test.cc": "", "a/c.cc": ""}
        self.assertEqual(self.run_tree(files), {("a/c.cc", "unlisted")})

    def test_exception_is_honoured_and_must_be_needed(self):
        files = {"BUILD.bazel": '"a.cc"', "a.cc": "std::mutex m;\n"}
        self.assertEqual(self.run_tree(files), {("a.cc", "lock")})
        files[tidy.ALLOW_FILE] = "lock a.cc The wrapper.\n"
        self.assertEqual(self.run_tree(files), set())
        files["a.cc"] = "int m;\n"
        self.assertEqual(self.run_tree(files), {(tidy.ALLOW_FILE, "lock")})

    def test_exception_needs_a_known_rule_and_a_reason(self):
        for line in ("lock a.cc\n", "locks a.cc The wrapper.\n"):
            found_in_it = self.run_tree({tidy.ALLOW_FILE: line})
            self.assertEqual(found_in_it, {(tidy.ALLOW_FILE, "unlisted")})


class CountingResult(unittest.TextTestResult):
    """Remembers each test, so that ./dev test can count them as cases."""

    cases = []

    def startTest(self, test):
        super().startTest(test)
        self.cases.append(test.id().removeprefix("__main__."))


def main():
    runner = unittest.TextTestRunner(resultclass=CountingResult)
    result = runner.run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed = {t.id().removeprefix("__main__.") for t, _ in result.failures + result.errors}
    if "XML_OUTPUT_FILE" in os.environ:
        with open(os.environ["XML_OUTPUT_FILE"], "w", encoding="utf-8") as out:
            out.write(f'<testsuites><testsuite name="tidy_test" tests="{result.testsRun}">')
            for case in CountingResult.cases:
                failure = '<failure message="see the log"/>' if case in failed else ""
                out.write(f"<testcase name={quoteattr(case)}>{failure}</testcase>")
            out.write("</testsuite></testsuites>\n")
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
