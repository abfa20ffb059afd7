#!/bin/sh
# A server that refuses with 503 may say "Retry-After: 0": come back at once (RFC 9110, 10.2.3, has "a non-negative decimal
# integer"). retry-axios 4.0.3 takes 0 for more than it may wait and gives up after the first refusal, though it has three
# attempts left; without the header, and with 1, it asks again.
#
# Seen, with node 20 and axios 1.21.1: of the requests that the server counts, 1 with 0, 2 with 1, 2 without the header.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund retry-axios@4.0.3 axios@1.21.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > ask.mjs <<'EOF'
import http from "node:http";
import axios from "axios";
import * as rax from "retry-axios";

const seen = {};
const server = http.createServer((request, response) => {
  const after = request.url.slice(1);
  seen[after] = (seen[after] ?? 0) + 1;
  if (seen[after] === 1) {
    response.writeHead(503, after === "none" ? {} : { "Retry-After": after });
  }
  response.end("{}");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const client = axios.create({ raxConfig: { retryDelay: 50 } });
rax.attach(client);
const expected = { 0: "503 after 1", 1: "200 after 2", none: "200 after 2" };
let isSame = true;
for (const after of Object.keys(expected)) {
  const url = `http://127.0.0.1:${server.address().port}/${after}`;
  const status = await client.get(url).then((found) => found.status, (error) => error.response.status);
  const found = `${status} after ${seen[after]}`;
  console.log(`Retry-After ${after}: ${found} requests`);
  isSame &&= found === expected[after];
}
server.close();
process.exit(isSame ? 0 : 1);
EOF
node ask.mjs
