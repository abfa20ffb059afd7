#!/bin/sh
# A server dies within every second answer: the connection ends before the bytes that Content-Length promises, or before the
# last chunk; or there is no answer at all. By RFC 9112, 8, a client must record such a message as incomplete, and who tests a
# service while its workers are restarted wants to know how many there were.
# hey 0.1.4 and siege 4.0.7 (Debian 12) count each answer that is cut as a good one: 200, "Availability: 100.00 %".
# autocannon 9.0.0 (npm) has no error and no timeout for what is cut or lost, and leaves it out of its rate and latencies:
# "errors" is 0 where half of the requests had no answer. Only "sent" has them.
# loadtest 8.2.1 (npm) has half of the requests as errors. Issue 175 of siege asks about a short answer with a 200.
#
# Seen, good ones and errors of 10 requests, of which the server answers five: too short: hey 10, 0; siege 10, 0; autocannon 5,
# 0; loadtest 5, 5. Without the last chunk: the same. No answer: hey, whose library asks again, 10, 0, with 19 requests; siege
# 5, 5; the others the same.
# Prints one line for each; exit 1 if one of them changes. Needs apt-get and Debian 12's packages; the server is on loopback.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" && chmod 755 .
apt-get download --quiet hey=0.1.4-2+b4 siege=4.0.7-1+b1 >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" root; done
npm install --silent --no-audit --no-fund autocannon@9.0.0 loadtest@8.2.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
echo "connection = close" > siege.conf
cat > shoot.mjs <<'END'
import { execFile } from "node:child_process";
import net from "node:net";
import { promisify } from "node:util";
import autocannon from "autocannon";
import { loadTest } from "loadtest";

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
const whole = `${head}Content-Length: 20\r\n\r\n${"x".repeat(20)}`;
const cut = { short: whole.slice(0, -10), chunked: `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nxxxxx\r\n`, none: "" };
let kind, number;
const server = net.createServer((socket) => {
  socket.on("error", () => {});
  socket.on("data", () => (++number % 2 ? socket.write(whole) : socket.end(cut[kind])));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;
const sum = (text, pattern) => [...text.matchAll(pattern)].reduce((total, [, counted]) => total + Number(counted), 0);
const reported = async (program, options, good, errors) => {
  const { stdout, stderr } = await promisify(execFile)(`root/usr/bin/${program}`, [...options, url], { timeout: 60000 });
  return [sum(stdout + stderr, good), sum(stdout + stderr, errors)];
};
const testers = {
  hey: () => reported("hey", ["-n", "10", "-c", "1"], /\[200\]\s+(\d+) responses/g, /\[(\d+)\]\s+Get/g),
  siege: () => reported("siege", ["-R", "siege.conf", "-b", "-c", "1", "-r", "10"],
    /Successful transactions:\s+(\d+)/g, /Failed transactions:\s+(\d+)/g),
  autocannon: async () => {
    const result = await autocannon({ url, connections: 1, amount: 10 });
    return [result["2xx"], result.errors + result.timeouts + result.mismatches + result.non2xx];
  },
  loadtest: async () => {
    const result = await loadTest({ url, concurrency: 1, maxRequests: 10, cores: 1, quiet: true });
    return [result.totalRequests - result.totalErrors, result.totalErrors];
  },
};
const expected = { hey: "10, 0", siege: "10, 0", autocannon: "5, 0", loadtest: "5, 5" };
let isSame = true;
for (kind of Object.keys(cut)) {
  for (const [name, shoot] of Object.entries(testers)) {
    number = 0;
    const found = (await shoot()).join(", ");
    console.log(`${kind}: ${name}: good ones, errors: ${found}; requests that came: ${number}`);
    isSame &&= found === (kind === "none" && name === "siege" ? "5, 5" : expected[name]);
  }
}
process.exit(isSame ? 0 : 1);
END
HOME=$folder node shoot.mjs
