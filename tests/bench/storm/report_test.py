"""report_test.py <storm-report>: medians, goals and the verdict of the short form."""

import csv
import importlib.machinery
import importlib.util
import math
import sys
import tempfile
import unittest
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("storm_report", sys.argv.pop(1))
report = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
sys.dont_write_bytecode = True
loader.exec_module(report)


def row(scenario, policy, repetition, p999_ms, adjusted, scale=1, shape="recipe", **others):
    figures = dict.fromkeys([c[1] for c in report.COLUMNS] + ["escapes", "mean_level"], 0.0)
    return {"shape": shape, "scale": str(scale), "scenario": scenario, "policy": policy, "repetition": str(repetition), "label": "",
            "phase": scenario, "outcome": "ok", **figures, "write_p999_ms": p999_ms, "peak_memory_mb": 90 * scale,
            "adjusted_bulk_mb_per_second": adjusted, "seconds": 60, "writes": 12000, **others}


def goal_named(goals, part):
    return next(goal for goal in goals if part in goal.what)


class Report(unittest.TestCase):
    def test_takes_median_and_range_over_repetitions_of_the_judged_phase(self):
        [s] = report.summarise([row("burst", "weir", 1, 900, 9, phase="calm"), row("burst", "weir", 1, 4, 5),
                                row("burst", "weir", 2, 2, 7), row("burst", "weir", 3, 9, 6)])
        self.assertEqual(s.repetitions, 3)
        self.assertEqual([x["write_p999_ms"] for x in (s.lowest, s.median, s.highest)], [2, 4, 9])
        self.assertEqual(s.median["adjusted_bulk_mb_per_second"], 6)

    def test_even_number_of_runs_has_the_middle_between_two(self):
        [s] = report.summarise([row("burst", "weir", 1, 4, 5), row("burst", "weir", 2, 2, 5)])
        self.assertEqual(s.median["write_p999_ms"], 3)

    def test_what_was_not_measured_does_not_count(self):
        [s] = report.summarise([row("burst", "weir", 1, 4, math.nan), row("burst", "weir", 2, 2, 5)])
        self.assertEqual(s.median["adjusted_bulk_mb_per_second"], 5)

    def test_run_that_aborted_counts_as_failure_not_as_figures(self):
        everything = report.summarise([row("burst", "low_pri", 1, 4, 5),
                                       row("burst", "low_pri", 2, 0, 0, outcome="aborted")])
        self.assertEqual(everything[0].repetitions, 1)
        self.assertEqual(everything[0].median["write_p999_ms"], 4)
        self.assertEqual(everything[0].failures, ["aborted"])
        self.assertIn("1 aborted", report.tables(everything))

    def test_experiments_with_a_label_stand_beside_their_policy_and_count_for_no_goal(self):
        rows = [row("burst", "weir", 1, 4, 5), row("burst", "weir", 1, 1000, 1, label="KP=9"),
                row("burst", "alone", 1, 1000, 5)]
        self.assertEqual(len(report.summarise(rows)), 3)
        self.assertTrue(goal_named(report.goals(rows, "static@5", 134), "burst: interactive").met)

    def test_oracle_is_the_fastest_rate_that_keeps_interactive_work_fast(self):
        def swept(policy, p999_ms, adjusted, braked=0, level=0.9):
            return row("burst", policy, 1, p999_ms, adjusted, label="sweep", braked_seconds=braked, highest_level=level)
        self.assertEqual(report.best_oracle([swept("static@5", 2, 5), swept("static@6", 3, 5.9),
                                             swept("static@7", 50, 6.8), swept("static@6.5", 4, 6.4, 0.1),
                                             swept("static@6.6", 4, 6.5, 0, 1.1)]), "static@6")
        self.assertEqual(report.best_oracle([swept("static@5", 9, 5)]), "")
        self.assertEqual(report.best_oracle([swept("static@5", 2, math.nan), swept("static@6", 3, 5.9)]), "static@6")

    def test_goals_are_met_not_met_or_not_run(self):
        goals = report.goals([row("burst", "weir", 1, 4, 5.4), row("burst", "alone", 1, 799, 6),
                              row("burst", "low_pri", 1, 3, 5), row("burst", "static@5.5", 1, 3, 5.6),
                              row("burst", "weir", 1, 4, 5, 4)], "static@5.5", 134)
        latency = goal_named(goals, "burst: interactive")
        self.assertFalse(latency.met)  # 1/199.75
        self.assertIn("1/200", latency.reached)
        self.assertTrue(goal_named(goals, "burst: debt-adjusted bulk against low_pri").met)  # +8.0
        self.assertFalse(goal_named(goals, "burst: debt-adjusted bulk against RocksDB alone").met)  # -10
        self.assertTrue(goal_named(goals, "burst: debt-adjusted bulk against the oracle").met)  # -3.6
        self.assertEqual(goal_named(goals, "cut: interactive").reached, "")
        self.assertFalse(goal_named(goals, "cut: interactive").met)
        self.assertTrue(goal_named(goals, "memory").met)  # 360 MB at scale 4
        self.assertIn("not run", report.goal_table(goals))

    def test_one_stall_in_one_run_misses_the_goal_in_any_phase(self):
        rows = [row("burst", "weir", 1, 4, 5), row("burst", "weir", 2, 4, 5, phase="calm", braked_seconds=0.1)]
        self.assertFalse(goal_named(report.goals(rows, "", 134), "engine slowed").met)


class QuickForm(unittest.TestCase):
    """Wants twenty times, no stall, and an answer for everybody."""

    def met(self, alone_ms=200, aborted=False, **weir):
        rows = [row("quick", "weir", 1, 10, 0, phase="burst", **weir), row("quick", "alone", 1, alone_ms, 0, phase="burst")]
        if aborted:
            rows.append({**rows[0], "outcome": "aborted"})
        return all(goal.met for goal in report.quick_goals(rows))

    def test_verdict(self):
        self.assertTrue(self.met())
        self.assertFalse(self.met(alone_ms=199))
        self.assertFalse(self.met(braked_seconds=0.02))
        self.assertFalse(self.met(escapes=1))
        self.assertFalse(self.met(refused=1))
        self.assertFalse(self.met(writes=9000))
        self.assertFalse(self.met(aborted=True))

    def test_each_shape_is_judged_by_its_own_runs(self):
        def both(shape, weir_ms):
            return [row("quick", "weir", 1, weir_ms, 0, phase="burst", shape=shape),
                    row("quick", "alone", 1, 200, 0, phase="burst", shape=shape)]
        goals = report.quick_goals(both("defaults", 10) + both("large", 11))
        self.assertTrue(goal_named(goals, "defaults: interactive").met)
        self.assertFalse(goal_named(goals, "large: interactive").met)

    def test_that_did_not_run_is_not_met(self):
        self.assertFalse(any(goal.met for goal in report.quick_goals([])))


class Matrix(unittest.TestCase):
    def rows(self, **weir):
        def of(policy, ms, adjusted, label="", **others):
            return row("shape", policy, 1, ms, adjusted, phase="burst", shape="blobs", label=label, **others)
        return [of("alone", 400, 10), of("static@8", 5, 8), of("static@9", 99, 9, label="sweep"), of("weir", 9, 9, **weir)]

    def cells(self, **weir):
        return report.matrix(self.rows(**weir)).splitlines()[-1].strip("| ").split(" | ")

    def test_has_a_row_for_each_shape_that_was_run(self):
        cells = self.cells(bulk_refused=3, limit_spread_percent=12, limit_within_percent=100, limit_settled_seconds=7, control_cpu_ms_per_second=8.5,
                           noise_p999_ms=2.1)
        self.assertEqual(cells, ["blobs", "400.0", "", "5.0", "9.0", "10.00", "", "8.00", "9.00", "−10 %", "+12 %", "0.0", "0",
                                 "3", "12", "100", "7", "8.5", "2.1", "yes"])
        self.assertEqual(report.matrix([]), "")

    def test_one_run_whose_limit_does_not_settle_is_told(self):
        rows = self.rows(limit_spread_percent=12, limit_within_percent=100, limit_settled_seconds=7)
        rows.append({**rows[-1], "repetition": "2", "limit_spread_percent": 45.0, "limit_within_percent": 80.0, "limit_settled_seconds": math.nan})
        self.assertIn("| 45 | 80 | never |", report.matrix(rows))

    def test_says_where_weir_does_not_hold(self):
        for weir in ({"braked_seconds": 0.1}, {"refused": 1}, {"write_p999_ms": 10.1}):
            self.assertTrue(report.matrix(self.rows(**weir)).endswith("**no** |"), weir)


class Versions(unittest.TestCase):
    def test_has_a_row_for_each_policy_of_each_version_the_oldest_first(self):
        with tempfile.TemporaryDirectory() as directory:
            for version, ms in (("9.10.0", 3), ("7.8.3", 4)):
                results = Path(directory, version)
                results.mkdir()
                (results / "machine.txt").write_text(f"cores: 2\ncompiler: 12.2.0 (Debian)\nRocksDB: {version}\n")
                rows = [row("burst", "weir", n, ms + n, 5, escapes=n - 1, highest_level=n) for n in (1, 2)]
                rows.append(row("burst", "alone", 1, 999, 6, escapes=7.0, braked_seconds=59.0))
                with open(results / "results.csv", "w", newline="") as file:
                    out = csv.DictWriter(file, rows[0])
                    out.writeheader()
                    out.writerows(rows)
            cells = [line.strip("| ").split(" | ") for line in report.versions(Path(directory)).splitlines()[2:]]
        self.assertEqual([row[:3] for row in cells], [[version, "12.2.0", policy] for version in ("7.8.3", "9.10.0")
                                                      for policy in ("alone", "weir")])
        self.assertEqual(cells[0][5:9], ["999.0", "6.00", "7", "59.0"])
        self.assertEqual(cells[3][3:9], ["2", "0.00", "4.5 (4.0–5.0)", "5.00 (5.00–5.00)", "1", "0.0"])
        self.assertEqual(cells[3][10], "2.00")


unittest.main()
