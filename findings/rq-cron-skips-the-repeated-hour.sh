#!/bin/sh
# rq 3.0.0: in the hour that comes twice when summer time ends, a cron string of rq.cron that runs every five minutes, or
# every hour, runs in the first of the two hours only: there is a gap of 65 minutes, or of two hours. Debian's cron
# (3.0pl1) leaves out only what has a fixed hour and minute; by its manual "*" in one of them runs by the new time at once.
# croniter 7.0.0, which reads the strings for RQ, gives the times of both hours where it is given a time with a zone.
# Jobs with interval=, and machines on UTC, are not touched.
#
# Seen, in the night of 25 October 2026 in Berlin's zone, the longest gap by rq and by croniter alone: "*/5 * * * *": from
# 00:55 to 02:00 UTC, 5 minutes; "0 * * * *": from 00:00 to 02:00, 60; "30 * * * *": from 00:30 to 02:30, 60.
# Exit 1 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 croniter==7.0.0 tzdata==2026.6
TZ=CET-1CEST,M3.5.0,M10.5.0/3 "$folder/venv/bin/python" - <<'EOF'
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from croniter import croniter
from rq.cron import CronJob

BEGIN = datetime(2026, 10, 24, 23, 45, tzinfo=timezone.utc)  # 01:45 in Berlin; the clocks go back at 01:00 UTC
END = BEGIN + timedelta(hours=4)


def by_rq(cron):
    """When rq.cron enqueues a job, if it is never late."""
    job, time = CronJob(queue_name="jobs", func=print, cron=cron), BEGIN
    while True:
        job.set_enqueue_time(time)
        time = job.next_enqueue_time
        if time > END:
            return
        yield time


def by_croniter(cron):
    times = croniter(cron, BEGIN.astimezone(ZoneInfo("Europe/Berlin")))
    while (time := times.get_next(datetime)) <= END:
        yield time


def longest_gap(times):
    times = list(times)
    return max(zip(times, times[1:]), key=lambda pair: pair[1].timestamp() - pair[0].timestamp())


SEEN = {  # the times around the longest gap: rq, croniter's length of it in minutes
    "*/5 * * * *": (("00:55", "02:00"), 5),
    "0 * * * *": (("00:00", "02:00"), 60),
    "30 * * * *": (("00:30", "02:30"), 60),
}
found = {}
for cron in SEEN:
    gap = tuple(f"{time.astimezone(timezone.utc):%H:%M}" for time in longest_gap(by_rq(cron)))
    before, after = longest_gap(by_croniter(cron))
    found[cron] = gap, round((after.timestamp() - before.timestamp()) / 60)
    print(f"{cron}: longest gap by rq from {gap[0]} to {gap[1]} UTC, by croniter {found[cron][1]} minutes")
sys.exit(found != SEEN)
EOF
