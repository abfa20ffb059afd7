#!/bin/sh
# autocannon 9.0.0: with a rate (-R, -r), its latencies are not those of the requests. They are "corrected to compensate for the
# effects of the coordinated omission issue", by its README: for a request that took longer than the time from one to the next,
# those that should have been sent meanwhile are added. autocannon gives that time in seconds, rounded up, to a histogram of
# milliseconds: it is 1 ms at all rates from one a second on. A request of 500 ms becomes 500 of them, from 1 to 500 ms.
# So a service that takes 500 ms for each, and keeps up with the rate, has a median of 250 ms and a minimum of 1; one that does
# so for each hundredth and takes 2 ms for the others has a median of more than 100. The same answers with the same histogram
# and the time in milliseconds have the right ones. -C (ignoreCoordinatedOmission), which by the README "is not recommended",
# corrects nothing (by its source), as a run without a rate.
#
# Seen, with node 20, 10 connections, the median by autocannon and by the same histogram with milliseconds: each slow, 40
# answers: 252 of 20143 latencies; 501 of 40. One in a hundred slow, 400 answers: 138 of 2904; 2 of 416.
# Prints one line for each; exit 1 if one of them changes. The server is on loopback; each of the two runs takes 4 s.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund autocannon@9.0.0 hdr-histogram-js@3.0.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > shoot.mjs <<'END'
import http from "node:http";
import autocannon from "autocannon";
import * as hdr from "hdr-histogram-js";

async function medians(slowOnes, rate) {
  let number = 0;
  const server = http.createServer((request, response) => {
    number += 1;
    setTimeout(() => response.end("ok"), slowOnes === "each" || number % 100 === 50 ? 500 : 2);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const right = hdr.build();
  const run = autocannon({ url, connections: 10, duration: 4, connectionRate: rate });
  run.on("response", (client, status, bytes, took) => right.recordValueWithExpectedInterval(Math.round(took), 1000 / rate));
  const { latency, requests } = await run;
  server.close();
  console.log(`${slowOnes} slow, ${rate}/s on each connection: ${requests.total} answers, ${requests.average}/s; ` +
    `by autocannon ${latency.totalCount} latencies, minimum ${latency.min}, median ${latency.p50} ms; ` +
    `with milliseconds ${right.totalCount}, minimum ${right.minNonZeroValue}, median ${right.getValueAtPercentile(50)} ms`);
  return { answers: requests.total, latency, count: right.totalCount, median: right.getValueAtPercentile(50) };
}

const within = (value, low, high) => value >= low && value <= high;
const each = await medians("each", 1);
const few = await medians("one in 100", 10);
const isSame = within(each.answers, 35, 50) && each.latency.totalCount > 300 * each.answers && each.latency.min < 10 &&
  within(each.latency.p50, 220, 300) && each.count === each.answers && within(each.median, 490, 600) &&
  within(few.answers, 350, 500) && few.latency.totalCount > 4 * few.answers && within(few.latency.p50, 60, 300) &&
  few.count < 1.2 * few.answers && few.median < 30;
process.exit(isSame ? 0 : 1);
END
node shoot.mjs
