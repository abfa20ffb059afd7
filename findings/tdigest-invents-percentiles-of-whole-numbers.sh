#!/bin/sh
# prom-client 15.1.3 (npm): "Summaries calculate percentiles of observed values", by its README. Where few different numbers come
# often, as with attempts, the sizes of batches, or times in whole milliseconds, its percentiles are numbers that nobody
# observed, and far off: of 990 jobs that took one attempt and 10 that took nine, it says that a quarter took more than 5, a
# tenth more than 7.4. More observations do not help. It counts with tdigest 0.1.3, which keeps one mean for the same number
# and draws a straight line from each to the next, as if the numbers between had occurred. With delta false tdigest does not;
# prom-client has no option for that. tdigest 0.5.2.2 of PyPI draws the line beyond the smallest number, too.
# prometheus-summary 0.1.6, which adds percentiles to prometheus_client, and fastdigest 0.12.0, another t-digest, are right.
# Public for tdigest of PyPI as issues 16 and 32 (closed as corrected).
#
# Seen, for 25 %, 50 %, 75 %, 90 % and 98 % of the 1000 jobs, each of which is 1: prom-client 1, 1.08, 5.08, 7.48, 8.76;
# tdigest of PyPI -2.92, 1.08, 5.08, 7.48, 8.76; the others 1.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tdigest==0.5.2.2 fastdigest==0.12.0 \
  prometheus-summary==0.1.6 prometheus-client==0.26.0
cd "$folder"
npm install --silent --no-audit --no-fund prom-client@15.1.3 tdigest@0.1.3 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > summary.mjs <<'END'
import { readFileSync } from "node:fs";
import { Registry, Summary } from "prom-client";

const { numbers, percentiles } = JSON.parse(readFileSync(0, "utf8"));
const summary = new Summary({ name: "attempts", help: "for a job", percentiles, registers: [new Registry()] });
numbers.forEach((number) => summary.observe(number));
const { values } = await summary.get();
console.log(JSON.stringify(values.filter(({ labels }) => "quantile" in labels).map(({ value }) => value)));
END
venv/bin/python - <<'END'
import json
import subprocess
import sys

import fastdigest
import prometheus_client
import prometheus_summary
import tdigest

PERCENTILES = [0.25, 0.5, 0.75, 0.9, 0.98]
NUMBERS = [9 if number % 100 == 99 else 1 for number in range(1000)]

registry = prometheus_client.CollectorRegistry()
invariants = [(percentile, 0.001) for percentile in PERCENTILES]
client = prometheus_summary.Summary("attempts", "for a job", registry=registry, invariants=invariants)
digest, fast = tdigest.TDigest(), fastdigest.TDigest.from_values(NUMBERS)
for number in NUMBERS:
    client.observe(number)
    digest.update(number)
node = subprocess.run(["node", "summary.mjs"], input=json.dumps({"numbers": NUMBERS, "percentiles": PERCENTILES}), text=True,
                      stdout=subprocess.PIPE, check=True).stdout
found = {
    "prom-client": json.loads(node),
    "tdigest of PyPI": [digest.percentile(100 * percentile) for percentile in PERCENTILES],
    "prometheus-summary": [registry.get_sample_value("attempts", {"quantile": str(part)}) for part in PERCENTILES],
    "fastdigest": [fast.quantile(percentile) for percentile in PERCENTILES],
}
found = {name: [round(value, 2) for value in values] for name, values in found.items()}
for name, values in found.items():
    print(f"{name}: {', '.join(f'{value:g}' for value in values)}")
LINE = [1.08, 5.08, 7.48, 8.76]
right = dict.fromkeys(("prometheus-summary", "fastdigest"), [1] * 5)
sys.exit(found != right | {"prom-client": [1, *LINE], "tdigest of PyPI": [-2.92, *LINE]})
END
