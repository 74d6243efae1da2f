"""The house rules that a machine can check: functions from a Source to (line, message) pairs."""

import re

import cpp_text

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
FILE_BYTES_MAX = 256 * 1024

# Layer -> prefixes of the includes of ours that it may see (docs/architecture.md, section 2).
LAYERS = {
    "service/base/": ["service/base/"],
    "service/raft/": ["service/base/", "service/raft/"],
    "storage/api/": ["service/base/", "storage/api/"],
    "storage/layout/": ["service/base/", "storage/api/", "storage/layout/", "quorum/storage/"],
    "storage/rocksdb/": [
        "service/base/", "storage/api/", "storage/layout/", "storage/rocksdb/", "quorum/storage/",
    ],
    "storage/memory/": [
        "service/base/", "storage/api/", "storage/layout/", "storage/memory/", "quorum/storage/",
    ],
    "service/shard/": ["service/base/", "service/raft/", "storage/api/", "service/shard/"],
    "service/controller/": [
        "service/base/", "service/raft/", "service/shard/", "service/controller/", "quorum/",
    ],
    "service/transport/": [
        "service/base/", "service/raft/", "service/shard/", "service/transport/", "quorum/v1/",
        # The interfaces that the two layers share; nothing else of the controller.
        "service/controller/catalog_api.h", "service/controller/controller_link.h",
    ],
    "service/server/": ["service/", "storage/", "quorum/"],
    "client/": ["service/base/", "client/", "quorum/v1/"],
}
_OURS = re.compile(r"^(service|storage|client|tests|quorum|proto)/")

# Library -> layers that may include it. tests/ may include all of them.
LIBRARIES = {
    re.compile(r"^(grpcpp|grpc|grpc\+\+)/"): ["service/transport/", "service/server/", "client/"],
    re.compile(r"^google/(protobuf|rpc)/|\.pb\.h$"): [
        "storage/layout/", "storage/rocksdb/", "storage/memory/", "service/controller/",
        "service/transport/", "service/server/", "client/",
    ],
    re.compile(r"^rocksdb/"): ["storage/rocksdb/"],
    re.compile(r"^(prometheus/|civetweb|CivetServer)"): ["service/server/"],
    re.compile(r"^(CLI/|nlohmann/)"): ["service/server/", "client/"],
    re.compile(r"^gflags/"): ["service/server/", "client/"],
}

# Rule -> (pattern, what to use instead).
BANNED = {
    "clock": (
        r"\b\w*[cC]lock::now\b|\babsl::Now\s*\(|\bgettimeofday\s*\(|\bclock_gettime\s*\("
        r"|(?<![\w.>:])time\s*\(\s*(?:NULL|nullptr|0|&\w+)\s*\)",
        "take the time from the Clock seam",
    ),
    "chance": (
        r"\b(?:random_device|mt19937(?:_64)?|default_random_engine|minstd_rand0?|BitGen)\b"
        r"|(?<![\w.>])s?rand(?:om)?\s*\(|\bget(?:random|entropy)\s*\(|\bstd::shuffle\b"
        r"|\bstd::uniform_\w+_distribution\b",
        "draw from a Prng that was passed down",
    ),
    "sleep": (
        r"\bsleep_(?:for|until)\b|(?<![\w.>])(?:u|nano)?sleep\s*\(|\bSleepFor\s*\(",
        "wait for a condition, or set a timer",
    ),
    "thread": (
        r"\bstd::(?:j?thread(?!::id)|async)\b|\bpthread_create\b",
        "post to a shard; threads are made in few, listed files",
    ),
    "lock": (
        r"\bstd::(?:(?:shared_|recursive_|timed_)?mutex|condition_variable(?:_any)?|lock_guard"
        r"|unique_lock|scoped_lock|shared_lock)\b|\babsl::\w*Mutex\w*\b",
        "use the annotated wrapper service/base/mutex.h",
    ),
    "assert": (r"(?<![\w.>])assert\s*\(|#\s*include\s*<cassert>", "use CHECK, which is always on"),
    "exception": (
        r"(?<!\w)throw\b(?!\s*\()|\bthrow\s*\(|(?<!\w)try\s*\{|\bcatch\s*\(|\bstd::sto[a-z]+\s*\(",
        "errors are values; parse numbers with absl::SimpleAtoi",
    ),
    "using_namespace": (r"\busing\s+namespace\b", "name what you use"),
}
_BANNED = {rule: re.compile(pattern) for rule, (pattern, _) in BANNED.items()}

_HASH_MAP = re.compile(
    r"\b(?:std::unordered_(?:map|set)|absl::(?:flat|node)_hash_(?:map|set))\s*<"
)
_LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")
_ORDERED = ("service/raft/", "service/shard/", "service/controller/", "storage/", "tests/sim/")


class Source:
    """One file of the tree: path relative to the root, text, and the views that rules share."""

    def __init__(self, path, text, sibling_text=""):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.is_cpp = path.endswith((".h", ".cc"))
        self.code = cpp_text.strip(text) if self.is_cpp else ""
        self.code_lines = self.code.split("\n")
        # The header of the same name, where the members of a class are declared.
        self.sibling_code = cpp_text.strip(sibling_text)

    def below(self, *prefixes):
        return self.path.startswith(prefixes)


def line_length(source):
    if not (source.is_cpp or source.path.endswith((".py", ".sh")) or source.path == "dev"):
        return
    for number, line in enumerate(source.lines, 1):
        if len(line) > LINE_COLUMNS_MAX and "://" not in line and "#include" not in line:
            yield number, f"{len(line)} columns; the limit is {LINE_COLUMNS_MAX}"


def file_length(source):
    if source.is_cpp or source.path.endswith((".py", ".sh")) or source.path == "dev":
        count = len(source.lines) - 1
        if count > FILE_LINES_MAX:
            yield count, f"{count} lines; the limit is {FILE_LINES_MAX}: split it by idea"


def file_size(source):
    size = len(source.text.encode("utf-8", "replace"))
    if size > FILE_BYTES_MAX:
        yield 1, f"{size} bytes; the limit is {FILE_BYTES_MAX}"


def function_length(source):
    for first, last, head in cpp_text.functions(source.code):
        count = last - first + 1
        if count > FUNCTION_LINES_MAX:
            yield first, f"{count} lines in {head[:60]}; the limit is {FUNCTION_LINES_MAX}"


def leftover(source):
    for number, line in enumerate(source.lines, 1):
        match = _LEFTOVER.search(line)
        if match:
            yield number, f"{match.group(1)} without an issue: write {match.group(1)}(#12)"


def pragma_once(source):
    if not source.path.endswith(".h"):
        return
    directives = [line.strip() for line in source.code_lines if line.strip().startswith("#")]
    if not directives or directives[0] != "#pragma once":
        yield 1, "the first directive of a header is #pragma once"


def layer_includes(source):
    layer = next((prefix for prefix in LAYERS if source.below(prefix)), None)
    if layer is None or not source.is_cpp:
        return
    for number, path in cpp_text.includes(source.text):
        if _OURS.match(path):
            if not path.startswith(tuple(LAYERS[layer])):
                yield number, f"{layer[:-1]} may not see {path}"
            continue
        for library, layers in LIBRARIES.items():
            if library.search(path) and layer not in layers:
                yield number, f"{layer[:-1]} may not see the library behind {path}"


def lock_free(source):
    if not source.below("service/raft/", "service/shard/"):
        return
    for number, line in enumerate(source.code_lines, 1):
        if re.search(r"\b\w*[mM]utex\w*\b|\bcondition_variable\b|\w*_lock\b", line):
            yield number, "no locks here: a partition is touched by one thread for life"
    for number, path in cpp_text.includes(source.text):
        if path in ("mutex", "service/base/mutex.h", "condition_variable", "shared_mutex"):
            yield number, f"no locks here, so no {path}"


def pure_core(source):
    """Logging, threads and streams have no place in the layers that the simulator replays."""
    if not source.below("service/raft/", "storage/api/"):
        return
    for number, path in cpp_text.includes(source.text):
        if path in ("glog/logging.h", "thread", "iostream", "fstream", "future"):
            yield number, f"<{path}> does not belong into pure code"


def switch_default(source):
    if not source.below("service/raft/", "service/shard/"):
        return
    for number, line in enumerate(source.code_lines, 1):
        if re.match(r"\s*default\s*:", line):
            yield number, "name each case: a default hides the next enumerator from -Wswitch"


def hash_order(source):
    """Iterating over a hash map lets the order of its buckets reach an effect."""
    if not source.is_cpp or not source.below(*_ORDERED):
        return
    names = _hash_map_names(source.code) | _hash_map_names(source.sibling_code)
    for number, line in enumerate(source.code_lines, 1):
        match = re.search(r"\bfor\s*\([^;]*:\s*(?:this->)?(\w+)\s*\)", line)
        if match and match.group(1) in names:
            yield number, f"iterates over the hash map {match.group(1)}; keep an ordered index"


def _hash_map_names(code):
    names = set()
    for match in _HASH_MAP.finditer(code):
        depth, position = 1, match.end()
        while depth and position < len(code):
            depth += {"<": 1, ">": -1}.get(code[position], 0)
            position += 1
        name = re.match(r"[&\s]*(\w+)", code[position:])
        if name:
            names.add(name.group(1))
    return names


def _banned_rule(rule):
    def check(source):
        for number, line in enumerate(source.code_lines, 1):
            match = _BANNED[rule].search(line)
            if match:
                yield number, f"{match.group(0).strip()}: {BANNED[rule][1]}"

    return check


RULES = {
    "line_length": line_length,
    "file_length": file_length,
    "file_size": file_size,
    "function_length": function_length,
    "leftover": leftover,
    "pragma_once": pragma_once,
    "layer_includes": layer_includes,
    "lock_free": lock_free,
    "pure_core": pure_core,
    "switch_default": switch_default,
    "hash_order": hash_order,
    **{rule: _banned_rule(rule) for rule in BANNED},
}
