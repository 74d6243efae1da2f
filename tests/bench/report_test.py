"""What report.py says about runs whose figures are known."""

import unittest

import report


def load(system, records_per_second, round_number=1, **others):
    run = {
        "run": "load",
        "system": system,
        "round": round_number,
        "outstanding": 16,
        "records_per_batch": 1,
        "partitions": 1,
        "append_batch": False,
        "records_per_second": records_per_second,
        "p50_ms": 2.0,
        "p99_ms": 4.0,
        "syncs_per_second": None,
        "calls": 1000,
        "records": 1000,
        "servers_cpu_per_1000": 0.1,
        "client_cpu_per_1000": 0.05,
        "written_bytes_per_record": 1000,
        "rss_mib": 50,
        "foreign_cpu_share": 0.0,
        "errors": 0,
    }
    run.update(others)
    return report.with_calls(run)


def idle(shares, sizes):
    return {
        "run": "idle",
        "system": "quorum",
        "round": 1,
        "partitions": 1000,
        "seconds": 20.0,
        "created_and_led_ms": 1500,
        "cpu_share_by_node": shares,
        "rss_mib_by_node": sizes,
        "rss_mib_by_node_empty": [20, 20, 20],
        "syncs_per_second": 0.0,
    }


def failover(all_led_ms):
    return {
        "run": "failover",
        "system": "quorum",
        "round": 1,
        "partitions": 1000,
        "victim": 1,
        "led_by_victim": 334,
        "all_led_ms": all_led_ms,
        "append_to_all_ms": 20,
    }


class ReportTest(unittest.TestCase):
    def test_idempotent_appends_stand_beside_plain_ones(self):
        runs = [load("quorum", 2000), load("quorum", 1900, idempotent=True)]
        rows = report.render(runs, []).split("\n")
        idempotent = [row for row in rows if "16 outstanding, idempotent" in row]
        self.assertEqual(len(idempotent), 1)
        self.assertIn("1,900", idempotent[0])
        ratios = [row for row in rows if "idempotent / plain" in row]
        self.assertEqual(len(ratios), 1)
        self.assertIn("0.95x", ratios[0])

    def test_a_figure_is_the_median_with_its_range(self):
        runs = [load("quorum", 900), load("quorum", 5000, 2), load("quorum", 1000, 3)]
        self.assertIn("1,000 (900-5,000)", report.render(runs, []))

    def test_systems_are_compared_by_ratio(self):
        text = report.render([load("quorum", 3000), load("etcd", 1500, p50_ms=8.0)], [])
        rows = [line for line in text.split("\n") if "Quorum / etcd" in line]
        self.assertEqual(len(rows), 1)
        cells = [cell.strip() for cell in rows[0].split("|")]
        self.assertEqual(cells[3:5], ["2.00x", "0.25x"])

    def test_losses_are_named_with_both_figures(self):
        text = report.render([load("quorum", 1000, p99_ms=9.0), load("etcd", 1500)], [])
        self.assertIn("records/s 1,000, etcd 1,500.", text)
        self.assertIn("p99 ms 9.00, etcd 4.00.", text)
        self.assertNotIn("p50 ms 2.00, etcd", text)

    def test_cpu_is_told_for_calls_and_for_records(self):
        run = load("quorum", 1000, records_per_batch=100, calls=50, records=5000)
        rows = [line for line in report.render([run], []).split("\n") if line.startswith("| ")]
        header, figures = ([cell.strip() for cell in row.split("|")] for row in (rows[0], rows[2]))
        self.assertEqual(figures[header.index("CPU s per 1,000 operations, servers")], "10.0000")
        self.assertEqual(figures[header.index("per 1,000 records")], "0.1000")

    def test_the_aim_is_to_be_ahead_of_etcd_at_every_point(self):
        alone = report.render([load("quorum", 1000)], [])
        self.assertNotIn("ahead of etcd", alone)
        better = {"p50_ms": 1.0, "p99_ms": 3.0, "servers_cpu_per_1000": 0.05}
        ahead = report.render([load("quorum", 3000, **better), load("etcd", 1500)], [])
        self.assertIn("* met: ahead of etcd at 4 of 4 points; aim: at every point.", ahead)
        # As good is not ahead.
        better["p99_ms"] = 4.0
        equal = report.render([load("quorum", 1000, **better), load("etcd", 1500)], [])
        self.assertIn("* MISSED: ahead of etcd at 2 of 4 points; aim: at every point.", equal)

    def test_no_loss_is_said_only_where_something_was_compared(self):
        alone = report.render([load("quorum", 1000)], [])
        self.assertNotIn("Nowhere in this table", alone)
        ahead = report.render([load("quorum", 3000), load("etcd", 1500)], [])
        self.assertIn("Nowhere in this table", ahead)

    def test_a_shape_of_quorum_alone_is_not_compared(self):
        runs = [load("quorum", 1, partitions=12), load("etcd", 1500)]
        self.assertNotIn("Quorum / etcd", report.render(runs, []))

    def test_aims_are_met_or_missed(self):
        reached = [
            load("quorum", 150_000, records_per_batch=100),
            idle([0.01, 0.02, 0.05], [60, 70, 80]),
            failover(2900),
        ]
        text = report.render(reached, [])
        self.assertEqual(text.count("* met:"), 4)
        self.assertNotIn("MISSED", text)
        missed = [
            load("quorum", 99_000, records_per_batch=100),
            idle([0.01, 0.02, 0.06], [60, 70, 101]),
            failover(2900),
            failover(5100),
        ]
        text = report.render(missed, [])
        self.assertEqual(text.count("* MISSED:"), 4)

    def test_a_busy_machine_is_told(self):
        self.assertNotIn("NOT QUIET", report.render([load("etcd", 1)], []))
        text = report.render([load("etcd", 1), load("etcd", 1, 2, foreign_cpu_share=0.8)], [])
        self.assertIn("NOT QUIET: in 1 of 2 runs", text)
        self.assertIn("80%", text)

    def test_saving_keeps_what_people_wrote(self):
        first = report.put_between_markers("", "figures of Monday\n")
        self.assertIn("figures of Monday", first)
        edited = first.replace("# Benchmarks", "# Our benchmarks") + "\n## Profiles\n\nWhy.\n"
        second = report.put_between_markers(edited, "figures of Tuesday\n")
        self.assertIn("# Our benchmarks", second)
        self.assertIn("\n\n## Profiles\n\nWhy.\n", second)
        self.assertIn("figures of Tuesday", second)
        self.assertNotIn("Monday", second)
        self.assertEqual(second, report.put_between_markers(second, "figures of Tuesday\n"))


if __name__ == "__main__":
    unittest.main()
