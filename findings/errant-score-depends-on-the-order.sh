#!/bin/sh
# errant 3.0.2: errant_compare gives another score when the same sentences stand in another order, where a reference has two
# annotators or more. For each sentence it takes the annotator who is best for the sum of all sentences before it; the first
# sentences are judged alone, the last ones with all others, and nothing is judged again.
# The order of the annotators, and all of it with one annotator, makes no difference.
#
# Here a system makes one edit in sentence A, where annotator 0 has none and annotator 1 has it and ten others, and three in
# sentence B, where both have these. Seen: A, B: 4 right, 0 wrong, 10 missed, F0.5 0.6667; B, A: 3, 1, 0 and 0.7895.
# Exit 1 if that changes. errant_compare is run from its file, as it needs nothing of what errant asks for.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps errant==3.0.2
"$folder/venv/bin/python" - "$folder" <<'EOF'
import subprocess
import sys
import sysconfig
from pathlib import Path

folder = Path(sys.argv[1])
program = Path(sysconfig.get_path("purelib"), "errant", "commands", "compare_m2.py")
NONE = "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||{}"
SENTENCES = {"A": "one two three four five six seven eight nine ten eleven", "B": "Yesterday he go home and eat and sleep ."}
VERBS = {2: "went", 5: "ate", 7: "slept"}


def edits(corrections, annotator):
    lines = [f"A {at} {at + 1}|||R:OTHER|||{word}|||REQUIRED|||-NONE-|||{annotator}" for at, word in corrections.items()]
    return lines or [NONE.format(annotator)]


HYPOTHESIS = {"A": edits({0: "first"}, 0), "B": edits(VERBS, 0)}
ANNOTATORS = [{"A": {}, "B": VERBS}, {"A": {0: "first", **{at: f"other{at}" for at in range(1, 11)}}, "B": VERBS}]


def score(order, annotators):
    """Right, wrong and missed edits, and F0.5."""
    reference = {name: sum((edits(of[name], number) for number, of in enumerate(annotators)), []) for name in order}
    for file, lines in (("hypothesis", HYPOTHESIS), ("reference", reference)):
        blocks = ("\n".join([f"S {SENTENCES[name]}", *lines[name]]) for name in order)
        (folder / file).write_text("\n\n".join(blocks) + "\n\n")
    command = [sys.executable, program, "-hyp", folder / "hypothesis", "-ref", folder / "reference"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    right, wrong, missed, _, _, f = next(line for line in printed.splitlines() if line[:1].isdigit()).split()
    return int(right), int(wrong), int(missed), float(f)


found = {}
CASES = {"two annotators": ANNOTATORS, "swapped": ANNOTATORS[::-1], "only the second": ANNOTATORS[1:]}
for name, annotators in CASES.items():
    found[name] = score("AB", annotators), score("BA", annotators)
    print(f"{name}: A, B: {found[name][0]}; B, A: {found[name][1]}")
two = (4, 0, 10, 0.6667), (3, 1, 0, 0.7895)
sys.exit(found != {"two annotators": two, "swapped": two, "only the second": (two[0], two[0])})
EOF
