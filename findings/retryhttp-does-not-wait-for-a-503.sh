#!/bin/sh
# retryhttp 1.5.0 (httpx 0.28.1, tenacity 9.2.1): its decorator @retry comes back before the time that the server asks for.
# - 503 with "Retry-After: 30": it waits a random part of a second, and of two the next time. By its changelog, 1.2.0, "When
#   receiving 503 Service Unavailable, honor a Retry-After header if provided"; its class wait_context_aware does, and the
#   decorator gives that class another default. After three attempts in three seconds it gives up. With 429 it waits 30 s.
# - 429 with a date: it leaves out the part of a second, comes up to a second too early, and has wasted one of its three attempts.
#   It leaves out the days, too: for a date in one day and a minute it waits for less than a minute, where by its manual what is
#   longer than wait_max, 120 s, is left to another strategy. RFC 9110, 10.2.3, has both forms.
#
# Seen, of waits by the decorator: 503, 30: below 1 and below 2; 429, 30: 30, 30; 429, a date in 3.5 s or less: a whole number of
# seconds before it; 429, a date in 86460 s: 59 or 60. By wait_context_aware: 503, 30: 30, 30.
# Prints one line for each; exit 1 if one of them changes. No server and no real waiting: httpx's mock transport answers.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check retryhttp==1.5.0 httpx==0.28.1 tenacity==9.2.1
"$folder/venv/bin/python" - <<'END'
import sys
import time
from email.utils import formatdate

import httpx
import retryhttp


def waits(status, after, **options):
    """What it would have slept between its three attempts, each of which is refused."""
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(status, headers={"Retry-After": after})))
    slept = []

    @retryhttp.retry(sleep=slept.append, reraise=True, **options)
    def ask():
        client.post("http://service/").raise_for_status()

    try:
        ask()
    except httpx.HTTPStatusError:
        return slept


while time.time() % 1 < 0.4 or time.time() % 1 > 0.6:  # so that a date, in whole seconds, is between two of them
    time.sleep(0.01)
begun = time.time()
soon, late = int(begun) + 4, int(begun) + 86460
at_date, at_late = (waits(429, formatdate(date, usegmt=True)) for date in (soon, late))
refused, context, limited = waits(503, "30"), waits(503, "30", wait=retryhttp.wait_context_aware()), waits(429, "30")
print(f"503, Retry-After 30: waits {[round(wait, 2) for wait in refused]}; by wait_context_aware {context}; 429: {limited}")
print(f"429, a date in {soon - begun:.2f} s: waits {at_date}; in {late - begun:.2f} s: {at_late}")
is_early = at_date == [3, 3] and at_late == [59, 59]
sys.exit(not (refused[0] <= 1 and refused[1] <= 2 and context == limited == [30, 30] and is_early))
END
