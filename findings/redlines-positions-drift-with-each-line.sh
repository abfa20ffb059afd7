#!/bin/sh
# redlines 0.6.2, whose JSON has "all changes with both character and token positions", made "for programmatic access": the
# character positions are those of a text that redlines made for itself, not those of "source" and "test", which stand beside
# them in the same JSON. That text has a blank and an empty line where the source has a line break or several, and no blanks at
# its begin. Behind a break a position is two too high, behind an empty line one, and it adds up; a blank in front makes it one
# too low. Who marks or takes over a correction by its position hits another place. By the tokens, which the JSON has as well,
# it is right; so are the positions within a line, also behind two blanks or a tab.
# It also imports typing_extensions, which it does not ask for.
#
# Seen, "He goed." to "He went." as the last line, put in at source_position, behind: nothing: "He went."; a line: "He gowent.";
# a paragraph: "He gwent."; two of them: "He gowent."; three lines: "He goed.went."; a blank: " Hewent..".
# Prints one line for each text; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check redlines==0.6.2 typing_extensions==4.16.0
"$folder/venv/bin/python" - <<'EOF'
import json
import sys

from redlines import Redlines

EXPECTED = {
    "": "He went.",
    "One.\n": "One.\nHe gowent.",
    "One.\n\n": "One.\n\nHe gwent.",
    "One.\n\nTwo.\n\n": "One.\n\nTwo.\n\nHe gowent.",
    "One.\nTwo.\nThree.\n": "One.\nTwo.\nThree.\nHe goed.went.",
    " ": " Hewent..",
    "One  and\ttwo. ": "One  and\ttwo. He went.",
}


def taken_over(source, test):
    """The source with each change put in at its position."""
    found = json.loads(Redlines(source, test).output_json())
    assert (found["source"], found["test"]) == (source, test)
    text = source
    for change in reversed(found["changes"]):
        if change["type"] == "replace":
            begin, end = change["source_position"]
            text = text[:begin] + change["test_text"] + text[end:]
    return text


found = {before: taken_over(f"{before}He goed.", f"{before}He went.") for before in EXPECTED}
for before, text in found.items():
    print(f"{before!r}: {text!r}")
sys.exit(found != EXPECTED)
EOF
