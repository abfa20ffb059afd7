#!/bin/sh
# gecommon 0.2.0, errant 3.0.2: where a word or a mark is missing at the end of a sentence, Parallel.ged_labels_token, by its
# docstring "error detection label at token level", gives a label more than the sentence has tokens. What is missing is marked
# at the token to its right, after Yuan et al. (2021); behind the last token there is none, and the assignment to a slice makes
# the list longer. zip(tokens, labels) then leaves the mistake out, a missing full stop in most cases, and a batch has rows
# whose labels do not fit their tokens.
# Everywhere else there are as many labels as tokens.
#
# Seen, "He go home", go > goes, and "." missing: 3 tokens, 4 labels; with the word "." there and "to" missing: 4 and 4.
# Exit 1 if that changes. The package errant is taken without what it loads at once, spaCy, which M2 does not need.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip install --quiet --disable-pip-version-check"
$pip --no-deps errant==3.0.2 gecommon==0.2.0
$pip tqdm==4.67.1
"$folder/venv/bin/python" - "$folder" <<'EOF'
import sys
import sysconfig
from pathlib import Path
from types import ModuleType, SimpleNamespace

errant, spacy = ModuleType("errant"), ModuleType("spacy")
errant.__path__ = [str(Path(sysconfig.get_path("purelib"), "errant"))]
spacy.tokens = SimpleNamespace(doc=SimpleNamespace(Doc=None))  # named in an annotation
sys.modules.update(errant=errant, spacy=spacy)
import errant.edit  # noqa: E402
from gecommon import Parallel  # noqa: E402

END = "REQUIRED|||-NONE-|||0"
SENTENCES = {
    "He go home": (f"A 1 2|||R:VERB:SVA|||goes|||{END}", f"A 3 3|||M:PUNCT|||.|||{END}"),
    "He go school .": (f"A 1 2|||R:VERB:SVA|||goes|||{END}", f"A 2 2|||M:PREP|||to|||{END}"),
    "He goes home": (f"A 3 3|||M:ADV|||again|||{END}",),
    "He goes home .": (f"A -1 -1|||noop|||-NONE-|||{END}",),
}
path = Path(sys.argv[1], "learner.m2")
path.write_text("\n\n".join("\n".join([f"S {sentence}", *edits]) for sentence, edits in SENTENCES.items()) + "\n\n")
parallel = Parallel.from_m2(str(path))
found = {}
for source, target, labels in zip(parallel.srcs, parallel.trgs, parallel.ged_labels_token(mode="cat3")):
    found[source] = len(source.split()), len(labels)
    print(f"{source} > {target}: {found[source][0]} tokens, {found[source][1]} labels: {labels}")
sys.exit(found != {"He go home": (3, 4), "He go school .": (4, 4), "He goes home": (3, 4), "He goes home .": (4, 4)})
EOF
