"""Checks the source tree against the house rules: tidy.py [--root=DIR] [--xml=FILE].

The files are those that git tracks or would add. Exceptions stand in allow.txt, each with its
reason; an exception that nothing needs any more is an error too.
"""

import argparse
import fnmatch
import os
import re
import subprocess
import sys
from xml.sax.saxutils import quoteattr

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402 (the path above comes first)

ALLOW_FILE = "tests/tidy/allow.txt"
# The rules name in these files what they forbid.
SELF = ("tests/tidy/rules.py", "tests/tidy/tidy_test.py")


def tree_files(root):
    """Paths of the tree, relative to root, without what git ignores."""
    command = ["git", "-C", root, "-c", "safe.directory=*", "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
    listed = listed.split("\0")
    return sorted(path for path in set(listed) if path and os.path.isfile(os.path.join(root, path)))


def parse_allow(text):
    """Exceptions as (rule, path pattern, line number), and malformed lines as (line, message)."""
    entries, problems = [], []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split(None, 2)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 3 or words[0] not in all_rules():
            problems.append((number, "expected: rule, path pattern, reason"))
        else:
            entries.append((words[0], words[1], number))
    return entries, problems


def all_rules():
    return list(rules.RULES) + ["unlisted"]


def check_source(source):
    """(line, rule, message) of each finding in one file."""
    for name, rule in rules.RULES.items():
        if source.path in SELF and name == "leftover":
            continue
        for line, message in rule(source):
            yield line, name, message


def unlisted(paths, read):
    """Yields each C++ file that no BUILD.bazel of its package names: dead, or without a target."""
    builds = {os.path.dirname(path): read(path) for path in paths if "BUILD.bazel" in path}
    for path in paths:
        if not path.endswith((".h", ".cc")):
            continue
        folder = os.path.dirname(path)
        while folder and folder not in builds:
            folder = os.path.dirname(folder)
        name = os.path.relpath(path, folder or ".")
        # A test may stand in a list of names that a comprehension turns into targets.
        names = [name, name[: -len(".cc")]] if name.endswith("_test.cc") else [name]
        if not any(f'"{name}"' in builds.get(folder, "") for name in names):
            yield path


def check_tree(paths, read):
    """Yields each C++ file that no BUILD.bazel names: dead, or without a target."""
    findings = []
    known = set(paths)
    for path in paths:
        text = read(path)
        sibling = path[:-3] + ".h" if path.endswith(".cc") else ""
        source = rules.Source(path, text, read(sibling) if sibling in known else "")
        findings += [(path, line, rule, message) for line, rule, message in check_source(source)]
    findings += [
        (path, 1, "unlisted", "no target of a BUILD.bazel names this file")
        for path in unlisted(paths, read)
    ]
    entries, problems = parse_allow(read(ALLOW_FILE) if ALLOW_FILE in known else "")
    kept, used = [], set()
    for finding in findings:
        matching = [e for e in entries if e[0] == finding[2] and fnmatch.fnmatch(finding[0], e[1])]
        used.update(matching)
        if not matching:
            kept.append(finding)
    kept += [
        (ALLOW_FILE, entry[2], entry[0], f"nothing in {entry[1]} needs this exception any more")
        for entry in entries
        if entry not in used
    ]
    kept += [(ALLOW_FILE, line, "unlisted", message) for line, message in problems]
    return kept


def write_xml(path, findings):
    """One test case a rule, so that the summary of ./dev test counts rules."""
    names = all_rules()
    failed = {name: [f for f in findings if f[2] == name] for name in names}
    with open(path, "w", encoding="utf-8") as out:
        failures = sum(1 for name in names if failed[name])
        out.write(f'<testsuites><testsuite name="tidy" tests="{len(names)}" failures="{failures}">')
        for name in names:
            out.write(f'<testcase classname="tidy" name={quoteattr(name)}>')
            if failed[name]:
                first = failed[name][0]
                out.write(f"<failure message={quoteattr(f'{first[0]}:{first[1]}: {first[3]}')}/>")
            out.write("</testcase>")
        out.write("</testsuite></testsuites>\n")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    here = os.path.dirname(os.path.realpath(__file__))
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)))
    parser.add_argument("--xml", default=os.environ.get("XML_OUTPUT_FILE"))
    options = parser.parse_args(arguments)

    cache = {}

    def read(path):
        if path not in cache:
            with open(os.path.join(options.root, path), encoding="utf-8", errors="replace") as file:
                cache[path] = file.read()
        return cache[path]

    paths = tree_files(options.root)
    if not any(re.search(r"\.(h|cc)$", path) for path in paths):
        print(f"tidy: no C++ source below {options.root}, so nothing was checked", file=sys.stderr)
        return 1
    findings = check_tree(paths, read)
    for path, line, rule, message in findings:
        print(f"{path}:{line}: {message} [{rule}]")
    if options.xml:
        write_xml(options.xml, findings)
    print(f"tidy: {len(paths)} files, {len(all_rules())} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
