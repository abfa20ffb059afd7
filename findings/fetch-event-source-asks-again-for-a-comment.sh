#!/bin/sh
# @microsoft/fetch-event-source 2.0.1 (npm) calls onmessage for what is no message by the HTML standard (9.2.6): for a comment
# with an empty line after it, as servers send one to keep a connection, and for an event without data, with data "". Its
# README does not say so; its issue 15 (open) has the comment.
# An onmessage that reads JSON raises for "". The library takes that for a broken connection, and after a second it sends
# the request again, also a POST, and where the comment comes before the first message no message is read.
# fetch-event-stream 0.1.6 hands on an event without data as undefined, and takes off all blanks before the data, where the
# standard has one: of a text that comes word by word, " there" is "there". Its issue 6 (open) has fields without a colon.
# eventsource 4.1.1 and eventsource-parser 3.1.1 do neither.
#
# Seen, of a comment, an event without data and {"a": 1}: eventsource, eventsource-parser {"a": 1}; fetch-event-source "", "",
# {"a": 1}; fetch-event-stream undefined, {"a": 1}. Of a word with a blank before it: fetch-event-stream without, the others
# with it. A POST by fetch-event-source whose onmessage reads JSON: 3 requests in 2.5 s, 0 messages.
# Prints one line for each client; exit 1 if one of them changes. Needs Node 20.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @microsoft/fetch-event-source@2.0.1 fetch-event-stream@0.1.6 eventsource@4.1.1 \
    eventsource-parser@3.1.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > ask.mjs <<'EOF'
import http from "node:http";
import { fetchEventSource } from "@microsoft/fetch-event-source";
import { EventSource } from "eventsource";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { events } from "fetch-event-stream";

globalThis.window = globalThis; // fetch-event-source takes its timers from it
globalThis.document = globalThis;
globalThis.removeEventListener ??= () => {};

const answer = ': wait\n\nevent: message\n\ndata: {"a": 1}\n\ndata:  there\n\n';
let requests = 0;
const server = http.createServer((request, response) => {
  requests += 1;
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.end(answer);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;

const readers = {
  eventsource: (found) =>
    new Promise((resolve) => {
      const source = new EventSource(url);
      source.onmessage = (event) => found.push(event.data);
      source.onerror = () => resolve(source.close());
    }),
  "eventsource-parser": async (found) => {
    const { body } = await fetch(url);
    const parsed = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const event of parsed) found.push(event.data);
  },
  "fetch-event-source": (found) =>
    fetchEventSource(url, { openWhenHidden: true, fetch, onmessage: (event) => found.push(event.data) }),
  "fetch-event-stream": async (found) => {
    for await (const event of events(await fetch(url))) found.push(String(event.data));
  },
};
const expected = {
  eventsource: ['{"a": 1}', " there"],
  "eventsource-parser": ['{"a": 1}', " there"],
  "fetch-event-source": ["", "", '{"a": 1}', " there"],
  "fetch-event-stream": ["undefined", '{"a": 1}', "there"],
};
let isSame = true;
for (const [name, read] of Object.entries(readers)) {
  const found = [];
  await read(found);
  console.log(`${name}: ${JSON.stringify(found)}`);
  isSame &&= JSON.stringify(found) === JSON.stringify(expected[name]);
}

requests = 0;
let messages = 0;
const stop = new AbortController();
setTimeout(() => stop.abort(), 2500);
await fetchEventSource(url, {
  method: "POST",
  body: "{}",
  openWhenHidden: true,
  fetch,
  signal: stop.signal,
  onmessage: (event) => {
    JSON.parse(event.data);
    messages += 1;
  },
});
console.log(`fetch-event-source, POST, onmessage reads JSON: ${requests} requests in 2.5 s, ${messages} messages`);
isSame &&= requests > 1 && messages === 0;
server.close();
server.closeAllConnections();
process.exit(isSame ? 0 : 1);
EOF
node ask.mjs
