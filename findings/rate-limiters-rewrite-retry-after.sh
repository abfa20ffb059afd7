#!/bin/sh
# An application that has no room refuses with 503 and "Retry-After: 2". With headers_enabled, Flask-Limiter 4.1.1 and slowapi
# 0.1.10 send another time, though the client has most of its 100 requests an hour left:
# - for 2 seconds: 3600, the end of the limit's window. They take the later of both, also where the limit refuses nobody. By
#   its history, 1.1.0, Flask-Limiter is to "Respect existing Retry-After header values"; its manual does not speak of them.
#   A client that waits as it is told, as urllib3's Retry does, stays away for an hour.
# - for a date, which is in GMT always (RFC 9110, 5.6.7 and 10.2.3): they read it as one of the server's time zone. Five hours
#   behind GMT a date in two hours is sent as seven hours; nine hours ahead it lies in the past, and the limit's hour goes.
#
# Seen from both, for 2, and for a date in 7200 s at GMT, five hours behind and nine ahead: 3600, 7200, 25200, 3600.
# Prints one line for each; exit 1 if one of them changes by more than 5 s.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check flask-limiter==4.1.1 flask==3.1.3 slowapi==0.1.10 \
  starlette==1.10.0 httpx==0.28.1
"$folder/venv/bin/python" -W ignore - <<'END'
import os
import sys
import time
from email.utils import formatdate

import flask_limiter
import slowapi
from flask import Flask, Response
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient


def fields(kind):
    return {"Retry-After": "2" if kind == "seconds" else formatdate(time.time() + 7200, usegmt=True)}


flask_app = Flask(__name__)
flask_limiter.Limiter(lambda: "client", app=flask_app, default_limits=["100 per hour"], headers_enabled=True,
                      storage_uri="memory://")
flask_app.add_url_rule("/<kind>", "refuse", lambda kind: Response("busy", 503, fields(kind)))
limiter = slowapi.Limiter(key_func=lambda: "client", headers_enabled=True)


@limiter.limit("100 per hour")
def refuse(request):
    return PlainTextResponse("busy", 503, fields(request.path_params["kind"]))


starlette_app = Starlette(routes=[Route("/{kind}", refuse)])
starlette_app.state.limiter = limiter
CLIENTS = {"Flask-Limiter": flask_app.test_client(), "slowapi": TestClient(starlette_app)}
CASES = {("seconds", "UTC0"): 3600, ("date", "UTC0"): 7200, ("date", "BEHIND5"): 25200, ("date", "AHEAD-9"): 3600}
is_same = True
for name, client in CLIENTS.items():
    found = []
    for kind, zone in CASES:
        os.environ["TZ"] = zone
        time.tzset()
        answer = client.get(f"/{kind}")
        found.append(int(answer.headers["Retry-After"]))
    print(f"{name}:", ", ".join(f"{kind}, {zone}: {after}" for (kind, zone), after in zip(CASES, found)),
          f"(remaining: {answer.headers['X-RateLimit-Remaining']})")
    is_same &= all(abs(after - expected) <= 5 for after, expected in zip(found, CASES.values()))
sys.exit(not is_same)
END
