#!/bin/sh
# parse-prometheus-text-format 1.1.1 (npm), "compatible with prom2json" by its README: of a histogram with a label, as each
# one by route or by method is, all series become one. The buckets are those of the last series in the text, the label, the
# sum and the count are gone, and nothing says so. The same holds for a summary with quantiles. It looks for a label on
# *_sum and *_count only where there is neither a bucket nor a quantile. prom2json gives each series its labels, sum and count.
# Two lines that the format allows are not read: blanks within the braces end it with "Encountered invalid line", and a
# comment without a blank after # becomes a metric, "#EOF". prometheus_client 0.26.0 reads all of it.
#
# Seen, of 10 requests to /correct that took 3 s and 2 to /check that took 8 s: one series without labels, buckets 1 and 2, no
# sum, no count; of /correct alone: no label, buckets 9 and 10, no sum, no count. prometheus_client: 10 in 3 s and 2 in 8 s.
# Prints one line for each text; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check prometheus_client==0.26.0
cd "$folder"
npm install --silent --no-audit --no-fund parse-prometheus-text-format@1.1.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > parse.mjs <<'EOF'
import { readFileSync } from "node:fs";
import parse from "parse-prometheus-text-format";

const answer = (text) => {
  try {
    return parse(text);
  } catch (error) {
    return String(error.message).split(":")[0];
  }
};
const texts = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map(answer)));
EOF
venv/bin/python - <<'EOF'
import json
import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families


def histogram(route, within, number, seconds):
    return (f'took_bucket{{route="{route}",le="0.1"}} {within}\ntook_bucket{{route="{route}",le="+Inf"}} {number}\n'
            f'took_sum{{route="{route}"}} {seconds}\ntook_count{{route="{route}"}} {number}\n')


def summary(route, median, number, seconds):
    return (f'took{{route="{route}",quantile="0.5"}} {median}\n'
            f'took_sum{{route="{route}"}} {seconds}\ntook_count{{route="{route}"}} {number}\n')


TEXTS = {
    "histogram": "# TYPE took histogram\n" + histogram("/correct", 9, 10, 3) + histogram("/check", 1, 2, 8),
    "of one route": "# TYPE took histogram\n" + histogram("/correct", 9, 10, 3),
    "summary": "# TYPE took summary\n" + summary("/correct", 0.2, 10, 3) + summary("/check", 4, 2, 8),
    "blanks": 'up{ route = "/correct" , method = "POST" } 1\n',
    "comment": "#EOF\n",
}
EXPECTED = {
    "histogram": ([{"buckets": {"0.1": "1", "+Inf": "2"}}], {"/correct": [10, 3], "/check": [2, 8]}),
    "of one route": ([{"buckets": {"0.1": "9", "+Inf": "10"}}], {"/correct": [10, 3]}),
    "summary": ([{"quantiles": {"0.5": "4"}}], {"/correct": [10, 3], "/check": [2, 8]}),
    "blanks": ("Encountered invalid line", {}),
    "comment": ([{"value": ""}], {}),
}


def counts_and_sums(text):
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith(("_count", "_sum")):
                found.setdefault(sample.labels["route"], []).append(sample.value)
    return {route: values[::-1] for route, values in found.items()}


answers = json.loads(subprocess.run(["node", "parse.mjs"], input=json.dumps(list(TEXTS.values())), text=True,
                                    stdout=subprocess.PIPE, check=True).stdout)
is_same = True
for (name, text), answer in zip(TEXTS.items(), answers):
    found = answer if isinstance(answer, str) else [series for metric in answer for series in metric["metrics"]]
    other = counts_and_sums(text)
    print(f"{name}: {json.dumps(found)}; prometheus_client, [number, seconds]: {json.dumps(other)}")
    is_same &= (found, other) == EXPECTED[name]
sys.exit(not is_same)
EOF
