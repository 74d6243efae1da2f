"""Makes one table out of the runs of ./dev bench: report.py RESULTS [--save=FILE] [--fact=K=V]...

RESULTS has a JSON object a line, as quorum_bench prints them. A figure is the median over the
rounds. --save replaces what stands between the two markers in FILE, and leaves the rest, which
people write: the profiles that explain what was missed.
"""

import argparse
import json
import statistics
import sys

BEGIN = "<!-- measured: ./dev bench --save replaces what follows -->"
END = "<!-- end of what was measured -->"
# Name of a figure, header, digits, and whether more is better (None: neither).
FIGURES = [
    ("records_per_second", "records/s", 0, True),
    ("p50_ms", "p50 ms", 2, False),
    ("p99_ms", "p99 ms", 2, False),
    ("syncs_per_second", "fsyncs/s", 0, None),
    ("servers_cpu_per_1000_calls", "CPU s per 1,000 operations, servers", 4, False),
    ("servers_cpu_per_1000", "per 1,000 records", 4, None),
    ("client_cpu_per_1000", "client, per 1,000 records", 4, None),
    ("written_bytes_per_record", "bytes written a record", 0, None),
    ("rss_mib", "MiB a node", 0, None),
]
# What the project set out to reach: what, the unit, the limit, and whether more is better.
AIM_BATCH_RECORDS = 100_000
AIM_IDLE_CORE_SHARE = 0.05
AIM_IDLE_MIB = 100
AIM_ALL_LED_MS = 5_000
# Of one core, used by others during a run; above it the figures are not to be trusted.
FOREIGN_CPU_MAX = 0.1


def with_calls(run):
    """A load run with the figure of an operation, which is one call."""
    if run["run"] != "load":
        return run
    of_records = run["servers_cpu_per_1000"]
    return dict(run, servers_cpu_per_1000_calls=of_records * run["records"] / run["calls"])


def median_of(runs, name):
    values = [run[name] for run in runs if run.get(name) is not None]
    return statistics.median(values) if values else None


def shape_of(run):
    """Sorts as the table does: Quorum's own shapes last."""
    own = run["partitions"] > 1
    key = (own, run["records_per_batch"], run["outstanding"], run["append_batch"])
    return key + (run.get("idempotent", False),)


def shape_name(shape):
    own, records, outstanding, append_batch, idempotent = shape
    batch = "single records" if records == 1 else f"batches of {records}"
    spread = ", AppendBatch to 12 partitions" if append_batch else ", 12 partitions" if own else ""
    producer = ", idempotent" if idempotent else ""
    return f"{batch}, {outstanding} outstanding{spread}{producer}"


def group_loads(runs):
    """{shape: {system: runs}} of the load runs."""
    groups = {}
    for run in runs:
        if run["run"] == "load":
            groups.setdefault(shape_of(run), {}).setdefault(run["system"], []).append(run)
    return dict(sorted(groups.items()))


def number(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"


def cell(runs, name, digits):
    """The median, with the smallest and largest of the rounds for the throughput."""
    text = number(median_of(runs, name), digits)
    values = [run[name] for run in runs if run.get(name) is not None]
    if name == "records_per_second" and len(values) > 1:
        text += f" ({number(min(values), 0)}-{number(max(values), 0)})"
    return text


def ratio(ours, theirs):
    return "-" if ours is None or not theirs else f"{ours / theirs:.2f}x"


def load_rows(groups):
    names = {"quorum": "Quorum", "etcd": "etcd", "echo": "bare gRPC echo"}
    for shape, systems in groups.items():
        label = shape_name(shape)
        for system in ("quorum", "etcd", "echo"):
            if system in systems:
                figures = [cell(systems[system], name, digits) for name, _, digits, _ in FIGURES]
                yield [label, names[system]] + figures
                label = ""
        if "quorum" in systems and "etcd" in systems:
            yield ["", "Quorum / etcd"] + [
                ratio(median_of(systems["quorum"], name), median_of(systems["etcd"], name))
                for name, _, _, _ in FIGURES
            ]
        plain = groups.get(shape[:-1] + (False,), {})
        if shape[-1] and "quorum" in plain:
            yield ["", "idempotent / plain"] + [
                ratio(median_of(systems["quorum"], name), median_of(plain["quorum"], name))
                for name, _, _, _ in FIGURES
            ]


def table(header, rows):
    """A Markdown table that is readable as text as well."""
    rows = [header] + list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"
        for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return lines


def of_kind(runs, kind, **wanted):
    return [
        run
        for run in runs
        if run["run"] == kind and all(run.get(key) == value for key, value in wanted.items())
    ]


def spread(runs, name, digits=0):
    """Median and range, in words."""
    values = [run[name] for run in runs]
    text = number(statistics.median(values), digits)
    if len(values) > 1:
        text += f" ({number(min(values), digits)}-{number(max(values), digits)})"
    return text


def floor_lines(runs):
    syncs = of_kind(runs, "fsync")
    if syncs:
        yield (
            f"* fdatasync after an append of 4 KiB, one process alone: "
            f"{spread(syncs, 'syncs_per_second')} a second, p50 {spread(syncs, 'p50_ms', 2)} ms, "
            f"p99 {spread(syncs, 'p99_ms', 2)} ms."
        )
    for system, name in (("quorum", "Quorum"), ("etcd", "etcd")):
        gaps = of_kind(runs, "gap", system=system)
        if gaps:
            yield (
                f"* `kill -9` of the leader to the next commit, default time-outs, {name}: "
                f"{spread(gaps, 'next_commit_ms')} ms."
            )
    for run in of_kind(runs, "idle"):
        shares = ", ".join(f"{share * 100:.1f} %" for share in run["cpu_share_by_node"])
        sizes = ", ".join(f"{size:.0f}" for size in run["rss_mib_by_node"])
        empty = ", ".join(f"{size:.0f}" for size in run["rss_mib_by_node_empty"])
        yield (
            f"* {run['partitions']:,} idle partitions, three replicas each: {shares} of a core by "
            f"node over {run['seconds']:.0f} s; {sizes} MiB RSS by node ({empty} before); "
            f"{number(run.get('syncs_per_second'), 1)} fsyncs/s of all nodes. Made and led in "
            f"{run['created_and_led_ms'] / 1000:.1f} s."
        )
    for run in of_kind(runs, "failover"):
        yield (
            f"* `kill -9` of node {run['victim']}, which led {run['led_by_victim']} of "
            f"{run['partitions']:,}: all led again after {run['all_led_ms'] / 1000:.2f} s (asked "
            f"every 50 ms); a record in each of them took {run['append_to_all_ms']:.0f} ms more."
        )


def aim(what, value, limit, more_is_better, unit):
    reached = value >= limit if more_is_better else value <= limit
    least = "at least" if more_is_better else "at most"
    verdict = "met" if reached else "MISSED"
    digits = 0 if limit >= 1000 else 1
    return (
        f"* {verdict}: {what}: {number(value, digits)}{unit}; "
        f"aim: {least} {number(limit, 0)}{unit}."
    )


def aim_lines(runs, groups):
    yield from aim_against_etcd(groups)
    batches = [
        median_of(systems["quorum"], "records_per_second")
        for shape, systems in groups.items()
        if "quorum" in systems and shape[1] > 1
    ]
    if batches:
        yield aim("records/s in batches, best shape", max(batches), AIM_BATCH_RECORDS, True, "")
    for run in of_kind(runs, "idle"):
        what = f"{run['partitions']:,} idle partitions, busiest node"
        share = max(run["cpu_share_by_node"]) * 100
        yield aim(what, share, AIM_IDLE_CORE_SHARE * 100, False, " % of a core")
        largest = max(run["rss_mib_by_node"])
        yield aim(what, largest, AIM_IDLE_MIB, False, " MiB RSS")
    failovers = of_kind(runs, "failover")
    if failovers:
        slowest = max(run["all_led_ms"] for run in failovers) / 1000
        what = "all partitions led again after kill -9, slowest"
        yield aim(what, slowest, AIM_ALL_LED_MS / 1000, False, " s")


def points(groups):
    """(name, Quorum's figure, etcd's, digits, whether more is better) of all that is compared."""
    for shape, systems in groups.items():
        if "quorum" not in systems or "etcd" not in systems:
            continue
        for name, header, digits, more_is_better in FIGURES:
            ours, theirs = median_of(systems["quorum"], name), median_of(systems["etcd"], name)
            if more_is_better is not None and ours is not None and theirs is not None:
                yield f"{shape_name(shape)}: {header}", ours, theirs, digits, more_is_better


def aim_against_etcd(groups):
    compared = list(points(groups))
    if compared:
        ahead = sum(
            ours > theirs if more_is_better else ours < theirs
            for _, ours, theirs, _, more_is_better in compared
        )
        verdict = "met" if ahead == len(compared) else "MISSED"
        where = f"ahead of etcd at {ahead} of {len(compared)} points"
        yield f"* {verdict}: {where}; aim: at every point."


def loss_lines(runs, groups):
    """Every point where Quorum is behind etcd."""
    for name, ours, theirs, digits, more_is_better in points(groups):
        if ours < theirs if more_is_better else ours > theirs:
            yield f"* {name} {number(ours, digits)}, etcd {number(theirs, digits)}."
    gaps = {system: of_kind(runs, "gap", system=system) for system in ("quorum", "etcd")}
    if all(gaps.values()):
        ours, theirs = (median_of(gaps[system], "next_commit_ms") for system in ("quorum", "etcd"))
        if ours > theirs:
            yield f"* kill -9 to the next commit: {ours:,.0f} ms, etcd {theirs:,.0f} ms."


def noise_lines(runs):
    loads = of_kind(runs, "load")
    noisy = [run for run in loads if run["foreign_cpu_share"] > FOREIGN_CPU_MAX]
    if noisy:
        most = max(run["foreign_cpu_share"] for run in noisy)
        yield (
            f"* NOT QUIET: in {len(noisy)} of {len(loads)} runs other processes used more than "
            f"{FOREIGN_CPU_MAX:.0%} of a core, at most {most:.0%}. Do not quote these figures."
        )
    failed = [run for run in loads if run["errors"] > 0]
    if failed:
        yield (
            f"* {sum(run['errors'] for run in failed)} calls failed in {len(failed)} runs, e.g. "
            f"{failed[0]['system']}: {failed[0]['first_error']}"
        )


METHOD = """\
* One machine: three servers and the load generator share its cores, its disk and loopback, so a
  figure is of the whole set, and the client is part of the load.
* A closed loop of unary gRPC calls by one C++ program with raw generated stubs, the same for all:
  up to 4 connections, all calls to the node that leads. A record has a value of 256 bytes, which do
  not compress, and a key of 8. Quorum: Append to one partition; etcd: Put, and Txn of 100 puts for
  a batch of 100. Both answer after a synced write on a majority.
* Each round starts fresh clusters, never two at a time, in alternating order. A figure is the
  median of the rounds, in parentheses the smallest and the largest.
* fsyncs/s are of the three nodes together, from the servers' own counters: etcd's write-ahead log,
  and two for each commit of its backend; checked once against strace, for both. An operation is one
  call, whatever it carries. CPU is that of the three servers, and beside it that of the load
  generator. Bytes written are those that reached the block layer, of all three. MiB is the RSS of
  the largest node.
* A point of the comparison is one of records/s, p50, p99 and the servers' CPU at one load.
* etcd keeps an index and old revisions that a log does not need; Quorum keeps no index of keys.
  This compares the price of a replicated, synced write, not the two products.
* Process kills, not power cuts; no network between the nodes; a disk that is a virtual one may
  acknowledge a flush from a cache of its host."""


def section(title, lines):
    lines = list(lines)
    return ["", f"## {title}", ""] + lines if lines else []


def render(runs, facts):
    groups = group_loads(runs)
    rounds = max((run["round"] for run in runs if run["run"] == "load"), default=0)
    header = ["load", "system"] + [header for _, header, _, _ in FIGURES]
    losses = list(loss_lines(runs, groups))
    compared = any("etcd" in systems and "quorum" in systems for systems in groups.values())
    lines = [f"* {key}: {value}" for key, value in facts] + [f"* rounds: {rounds}"]
    lines += noise_lines(runs)
    lines += section("Load", table(header, load_rows(groups)) if groups else [])
    lines += section("Floors, failover and idle partitions", floor_lines(runs))
    lines += section("Aims", aim_lines(runs, groups))
    if compared:
        lines += section("Where Quorum is behind etcd", losses or ["* Nowhere in this table."])
    lines += section("How it was measured", METHOD.split("\n"))
    return "\n".join(lines) + "\n"


def put_between_markers(old, text):
    """`old` with `text` between its markers; a new document when it has none."""
    measured = f"{BEGIN}\n\n{text}\n{END}\n"
    if BEGIN not in old or END not in old:
        return f"# Benchmarks\n\nMade by `./dev bench --save`.\n\n{measured}"
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    after = after.lstrip("\n")
    return before + measured + ("\n" + after if after else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results")
    parser.add_argument("--save", help="Markdown file to write as well")
    parser.add_argument("--fact", action="append", default=[], help="NAME=VALUE of the machine")
    arguments = parser.parse_args()
    with open(arguments.results, encoding="utf-8") as lines:
        runs = [with_calls(json.loads(line)) for line in lines if line.strip()]
    text = render(runs, [fact.split("=", 1) for fact in arguments.fact])
    print(text, end="")
    if arguments.save:
        try:
            with open(arguments.save, encoding="utf-8") as file:
                old = file.read()
        except FileNotFoundError:
            old = ""
        with open(arguments.save, "w", encoding="utf-8") as file:
            file.write(put_between_markers(old, text))
        print(f"saved in {arguments.save}", file=sys.stderr)


if __name__ == "__main__":
    main()
