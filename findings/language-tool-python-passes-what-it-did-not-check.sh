#!/bin/sh
# language-tool-python 3.4.0, its command for files of text, with a LanguageTool server of one's own:
# - Its README has "Exit codes: 0: no issues, 2: issues found". A file that was not checked ends with 0 as well: one for which
#   the server answers with an error, as LanguageTool does with 413 for a text longer than it takes, and one that is not there.
#   A line on stderr says so, but a build that asks for the exit code goes on.
# - --apply, "automatically apply suggestions if available", prints the corrected text. With --ignore-lines, "ignore lines that
#   match this regular expression", an empty line stands for each line that matches: what was to be left alone is lost.
#
# Seen: a good text 0, a bad one 2, one that is too long 0, a missing file 0;
# "> She said:", "She go home." with --apply: "> She said:", "She goes home."; with --ignore-lines '>', too: "", "She goes home."
# Exit 1 if one of them changes. The server is a thread on loopback that knows one mistake and answers in LanguageTool's form.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check language-tool-python==3.4.0
"$folder/venv/bin/python" - "$folder" <<'EOF'
import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs

RULE = {"id": "AGREEMENT", "issueType": "grammar", "category": {"id": "GRAMMAR"}}


class LanguageTool(BaseHTTPRequestHandler):
    def do_GET(self):  # /v2/languages
        self.answer(200, json.dumps([{"name": "English (US)", "code": "en", "longCode": "en-US"}]))

    def do_POST(self):  # /v2/check
        text = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["text"][0]
        if len(text) > 100:
            return self.answer(413, "Error: Your text exceeds the limit of 100 characters")
        place = {"offset": text.find("She go ") + 4, "length": 2}
        context = {"text": text.replace("\n", " "), **place}
        match = {"message": "She goes.", "replacements": [{"value": "goes"}], "context": context, "sentence": text, **place}
        self.answer(200, json.dumps({"matches": [{**match, "rule": RULE}] if "She go " in text else []}))

    def answer(self, status, body):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    log_message = lambda self, *_: None


folder = Path(sys.argv[1])
server = ThreadingHTTPServer(("127.0.0.1", 0), LanguageTool)
Thread(target=server.serve_forever, daemon=True).start()
command = [folder / "venv/bin/language_tool_python", "-l", "en-US", "--remote-host", "127.0.0.1"]
command += ["--remote-port", str(server.server_port)]
TEXTS = {"good": "She goes home.", "bad": "She go home.", "long": "She go home. " * 20}
found = {}
for name, text in {**TEXTS, "quoting": "> She said:\nShe go home."}.items():
    (folder / name).write_text(text)
for name in (*TEXTS, "missing"):
    run = subprocess.run([*command, folder / name], capture_output=True, text=True)
    found[name] = run.returncode
    print(f"{name}: exit code {run.returncode}; {(run.stdout + run.stderr).strip().replace(str(folder), '.')}")
for options in ("--apply", "--apply --ignore-lines >"):
    run = subprocess.run([*command, *options.split(), folder / "quoting"], capture_output=True, text=True)
    found[options] = run.stdout.splitlines()
    print(f"{options}: {found[options]}")
CODES = {"good": 0, "bad": 2, "long": 0, "missing": 0}
expected = {"--apply": ["> She said:", "She goes home."], "--apply --ignore-lines >": ["", "She goes home."]}
sys.exit(found != CODES | expected)
EOF
