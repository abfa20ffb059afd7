#!/bin/sh
# Flask-Compress 1.25 "supports compressing streaming responses", by its README under "Streaming support", and does so as it
# comes: a text/plain, text/html or application/json that a generator makes piece by piece. Its compressors are never
# flushed. They keep what they are given until they have a block of it, which for a text of a model is its end, and the reader
# has nothing, or the two bytes that begin "deflate", until then. Without Flask-Compress each piece arrives as it is made.
# Its issue 30, that it breaks streaming, was closed with that support.
# zstd, br and deflate are its list for streams, without gzip: curl and wget, which ask for nothing, see a stream; browsers, and
# requests 2.34.2, which asks for "gzip, deflate", do not. text/event-stream is not on its list of types. brotli-asgi 1.7.0 and
# Starlette 1.10.0 flush after each piece.
#
# Seen, of five pieces, 0.2 s each, the time at which the first one can be read: without Flask-Compress, and with gzip asked
# for: 0.0 s; zstd, br, deflate: 1.0 s, with the last one.
# Prints one line for each encoding; exit 1 if one of them changes. The server is Werkzeug's, on loopback.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  flask-compress==1.25 flask==3.1.3 werkzeug==3.1.9 brotli==1.2.1 backports.zstd==1.8.0
"$folder/venv/bin/python" - <<'EOF'
import logging
import sys
import zlib
from http.client import HTTPConnection
from threading import Thread
from time import monotonic, sleep

import brotli
from backports import zstd
from flask import Flask, Response
from flask_compress import Compress
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
PIECE = "piece\n"
READERS = {
    "deflate": lambda: zlib.decompressobj().decompress,
    "br": lambda: brotli.Decompressor().process,
    "zstd": lambda: zstd.ZstdDecompressor().decompress,
    None: lambda: bytes,
}


def served(compressed):
    app = Flask(__name__)
    if compressed:
        Compress(app)

    @app.get("/")
    def text():
        def pieces():
            for _ in range(5):
                yield PIECE
                sleep(0.2)

        return Response(pieces(), mimetype="text/plain")

    server = make_server("127.0.0.1", 0, app, threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    return server.port


def first_piece(port, encoding):
    """After how many seconds the first piece can be read, and how the answer is encoded."""
    client = HTTPConnection("127.0.0.1", port, timeout=10)
    begun = monotonic()
    client.request("GET", "/", headers={"Accept-Encoding": encoding})
    answer = client.getresponse()
    read = READERS[answer.getheader("Content-Encoding")]()
    text = b""
    while not text:
        text = read(answer.read1(1000))
    seconds = monotonic() - begun
    while part := answer.read1(1000):
        text += read(part)
    assert text.decode() == PIECE * 5
    return seconds, answer.getheader("Content-Encoding")


plain, compressed = served(False), served(True)
found = {}
for name, port, encoding in (
    ("without Flask-Compress", plain, "zstd, br, gzip, deflate"),
    ("gzip", compressed, "gzip"),
    ("gzip, deflate", compressed, "gzip, deflate"),
    ("br", compressed, "br"),
    ("zstd", compressed, "zstd"),
):
    seconds, used = first_piece(port, encoding)
    found[name] = (used, seconds > 0.7)
    print(f"{name}: encoding {used}, first piece after {seconds:.1f} s")
sys.exit(
    found
    != {
        "without Flask-Compress": (None, False),
        "gzip": (None, False),
        "gzip, deflate": ("deflate", True),
        "br": ("br", True),
        "zstd": ("zstd", True),
    }
)
EOF
