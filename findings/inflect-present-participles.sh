#!/bin/sh
# inflect 7.6.0: present_participle doubles the last consonant of verbs that are not stressed there, and does not double
# it where the stress asks for it. Irregular ones (dying, lying, panicking, beginning) are right.
#
# Seen: opens > openning, happens > happenning, listens > listenning, visits > visitting, develops > developping;
# prefers > prefering, refers > refering, quits > quiting; dyes > dying (dyeing), singes > singing (singeing).
# Prints one line for each verb; exit 1 if a form has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inflect==7.6.0
"$folder/venv/bin/python" - <<'EOF'
import sys

import inflect

SEEN = {
    "opens": "openning", "happens": "happenning", "listens": "listenning", "visits": "visitting",
    "develops": "developping", "prefers": "prefering", "refers": "refering", "quits": "quiting",
    "dyes": "dying", "singes": "singing",
    "dies": "dying", "lies": "lying", "panics": "panicking", "begins": "beginning", "offers": "offering",
}
engine = inflect.engine()
found = {verb: engine.present_participle(verb) for verb in SEEN}
for verb, form in found.items():
    print(f"{verb} > {form}")
sys.exit(found != SEEN)
EOF
