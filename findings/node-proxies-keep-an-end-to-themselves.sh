#!/bin/sh
# Proxies for Node between a client and a service that answers with a stream, with Node 20: what one side learns of the other.
# - The client goes away, while it waits for the head of an answer or while it reads: http-proxy 1.18.1 tells the service
#   in neither case, http-proxy-middleware 3.0.11, @fastify/http-proxy 11.6.3 and fast-proxy 2.2.0 do once the answer has begun.
#   The service works on for nobody. http-proxy listens for "aborted" of the request, which Node no longer emits once the body
#   of the request is read.
# - The service dies within an answer that it sends in chunks: http-proxy, http-proxy-3 1.23.3, http-proxy-middleware and
#   express-http-proxy 2.1.2 keep the client's connection open and send nothing more. It waits for as long as it has patience.
# h3 2.0.8 passes all of it on, as http-proxy-middleware 4.2.1 does, which is for Node 22 and has another proxy inside.
# For http-proxy's clients that leave, pull requests 1559 and 1580 are open since 2021 and 2022; for a @fastify/reply-from that
# did not cancel, issue 424 is closed. None of the READMEs says so.
#
# Seen, told that a client left: a GET and a POST that wait, a GET and a POST that read; and the client told of a service that
# died: http-proxy no, no, no, no; no. http-proxy-3 yes, yes, yes, yes; no. http-proxy-middleware no, no, yes, yes; no.
# express-http-proxy yes, yes, yes, yes; no. @fastify/http-proxy and fast-proxy no, no, yes, yes; yes. h3 yes to all.
# Prints one line for each proxy; exit 1 if one of them changes. Needs Node 20; all listens on loopback.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund http-proxy@1.18.1 http-proxy-3@1.23.3 http-proxy-middleware@3.0.11 \
  express-http-proxy@2.1.2 express@5.3.0 @fastify/http-proxy@11.6.3 fastify@5.12.8 fast-proxy@2.2.0 h3@2.0.8 \
  > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > pass.mjs <<'EOF'
import http from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import fastifyProxy from "@fastify/http-proxy";
import express from "express";
import expressProxy from "express-http-proxy";
import fastProxy from "fast-proxy";
import Fastify from "fastify";
import { H3, proxyRequest } from "h3";
import { toNodeHandler } from "h3/node";
import httpProxy from "http-proxy";
import httpProxy3 from "http-proxy-3";
import { createProxyMiddleware } from "http-proxy-middleware";

const left = new Set();
let asked = 0;
const open = async (handler) => {
  const server = http.createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server.address().port;
};

// Waits 3 s before its head, streams for 3 s, or dies within a stream.
const service = await open((request, response) => {
  request.resume();
  const [, task, number] = request.url.split("/");
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
    if (task !== "wait") response.write(`data: ${ticks}\n\n`);
    if (task === "die" && ticks === 3) response.socket.destroySoon();
    if (ticks === 30) response.end();
  }, 100);
  response.on("close", () => {
    clearInterval(timer);
    if (!response.writableFinished) left.add(number);
  });
});
const target = `http://127.0.0.1:${service}`;

const old = httpProxy.createProxyServer({ target });
const third = httpProxy3.createProxyServer({ target });
for (const proxy of [old, third]) proxy.on("error", (error, request, response) => response.destroy());
const fastify = Fastify();
await fastify.register(fastifyProxy, { upstream: target });
await fastify.listen({ port: 0, host: "127.0.0.1" });
const fast = fastProxy({ base: target });
const h3 = new H3().all("/**", (event) => proxyRequest(event, target + event.url.pathname));
const ports = {
  "http-proxy": await open((request, response) => old.web(request, response)),
  "http-proxy-3": await open((request, response) => third.web(request, response)),
  "http-proxy-middleware": await open(express().use(createProxyMiddleware({ target }))),
  "express-http-proxy": await open(express().use(expressProxy(target))),
  "@fastify/http-proxy": fastify.server.address().port,
  "fast-proxy": await open((request, response) => fast.proxy(request, response, request.url, {})),
  h3: await open(toNodeHandler(h3)),
};

const ask = (port, path, method) => {
  const request = http.request({ port, host: "127.0.0.1", path, method, agent: false });
  request.on("error", () => {});
  request.end(method === "POST" ? "{}" : undefined);
  return request;
};

const isToldOfClient = async (port, task, method) => {
  const number = String((asked += 1));
  const request = ask(port, `/${task}/${number}`, method);
  await pause(350);
  request.destroy();
  await pause(700);
  return left.has(number);
};

const isToldOfService = (port) =>
  new Promise((resolve) => {
    const request = ask(port, "/die/0", "GET");
    request.on("response", (response) => {
      response.on("error", () => {});
      response.on("close", () => resolve(!response.complete));
      response.resume();
    });
    setTimeout(() => resolve(false) || request.destroy(), 2000);
  });

const expected = {
  "http-proxy": "no, no, no, no; no",
  "http-proxy-3": "yes, yes, yes, yes; no",
  "http-proxy-middleware": "no, no, yes, yes; no",
  "express-http-proxy": "yes, yes, yes, yes; no",
  "@fastify/http-proxy": "no, no, yes, yes; yes",
  "fast-proxy": "no, no, yes, yes; yes",
  h3: "yes, yes, yes, yes; yes",
};
let isSame = true;
for (const [name, port] of Object.entries(ports)) {
  const told = [];
  for (const task of ["wait", "read"]) {
    for (const method of ["GET", "POST"]) told.push(await isToldOfClient(port, task, method));
  }
  const say = (isTold) => (isTold ? "yes" : "no");
  const found = `${told.map(say).join(", ")}; ${say(await isToldOfService(port))}`;
  console.log(`${name}: service told: ${found.replace("; ", "; client told: ")}`);
  isSame &&= found === expected[name];
}
process.exit(isSame ? 0 : 1);
EOF
node pass.mjs 2>node.txt || { cat node.txt; exit 1; }
