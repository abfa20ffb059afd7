#!/bin/sh
# A language model's text goes out as events, a word or a line break at a time, so that a blank in front and a line break at
# the end count. Three libraries for servers send other text than they are given, and no client can mend it (HTML standard,
# 9.2.6: one blank after "data:" is taken off, and each further line of the text has a "data:" of its own):
# - Flask-SSE 1.0.0 writes "data:" without a blank, and the client takes off the word's own: "He went" becomes "Hewent". It
#   also drops a line break at the end. Its docstring: "serialize this object to a string, according to the specification".
# - BlackSheep 2.6.4: TextServerSentEvent, made so that a text goes out as it is (its issue 484), writes a backslash and an n for
#   a line break; a text that has these two itself looks the same.
# - Lilya 0.29.0: SSEMessage of its channels drops a line break at the end. FastAPI did so until its pull request 15515.
# sse-starlette 3.7.0 and litestar 2.25.0 hand all of it over. Words within JSON are not touched.
#
# Seen, what a client has of " there", "a<line break>b", "end.<line break>" and a line break alone: Flask-SSE "there", the
# same, "end.", ""; BlackSheep " there", then a\nb, end.\n and \n with backslashes; Lilya the same, the same, "end.", "";
# sse-starlette and litestar the same four.
# Prints one line for each library; exit 1 if one of them changes. What they write is read by httpx-sse 0.4.3.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check flask-sse==1.0.0 flask==3.1.3 redis==8.1.0 \
  blacksheep==2.6.4 lilya==0.29.0 sse-starlette==3.7.0 litestar==2.25.0 httpx==0.28.1 httpx-sse==0.4.3
"$folder/venv/bin/python" - <<'EOF'
import sys

import httpx
from blacksheep.server.sse import TextServerSentEvent, write_sse
from flask_sse import Message
from httpx_sse import EventSource
from lilya.contrib.sse.channels import SSEMessage
from litestar.response.sse import ServerSentEventMessage
from sse_starlette import ServerSentEvent

TEXTS = [" there", "a\nb", "end.\n", "\n"]
LIBRARIES = {
    "Flask-SSE": lambda text: str(Message(text)),
    "BlackSheep": lambda text: bytes(write_sse(TextServerSentEvent(text))),
    "Lilya": lambda text: SSEMessage(text).to_wire(),
    "sse-starlette": lambda text: ServerSentEvent(text).encode(),
    "litestar": lambda text: ServerSentEventMessage(data=text).encode(),
}
EXPECTED = {
    "Flask-SSE": ["there", "a\nb", "end.", ""],
    "BlackSheep": [" there", r"a\nb", r"end.\n", r"\n"],
    "Lilya": [" there", "a\nb", "end.", ""],
    "sse-starlette": TEXTS,
    "litestar": TEXTS,
}


def received(sent):
    answer = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=sent)
    [event] = EventSource(answer).iter_sse()
    return event.data


found = {name: [received(write(text)) for text in TEXTS] for name, write in LIBRARIES.items()}
for name, texts in found.items():
    print(f"{name}: {', '.join(map(repr, texts))}")
sys.exit(found != EXPECTED)
EOF
