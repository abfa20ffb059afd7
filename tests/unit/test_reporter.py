"""What a process reports of its counts; tests/integration/test_observing.py adds the reports up."""

from __future__ import annotations

from worker.queue.heartbeat import Reporter


def test_whole_numbers_stay_whole_and_others_keep_every_digit() -> None:
    command = Reporter().command({"whole": 12, "part": 0.1 + 0.2, "tiny": 1e-7, "even": 2.0})

    assert command[6:] == ("whole", "12", "part", "0.30000000000000004", "tiny", "1e-07", "even", "2.0")


def test_a_report_is_bounded_and_what_does_not_fit_comes_with_the_next_ones() -> None:
    reporter, totals = Reporter(), {f"field-{number}": 1.0 for number in range(5000)}
    reports = []
    for _ in range(4):
        reports.append(reporter.command(totals)[6:])
        reporter.note_reply(0)

    assert [len(report) // 2 for report in reports] == [2000, 2000, 1000, 0]
    assert {name for report in reports for name in report[::2]} == set(totals)
