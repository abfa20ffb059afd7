#!/bin/sh
# statsmodels 0.15.0 (mcnemar with exact=False) and mlxtend 0.25.0 (mcnemar as it is by default): two models that are right on
# the same sentences and wrong on the same ones, say one and its copy in eight bits, have a p-value of 0.0: by the number that
# a script compares with 0.05 they differ beyond all doubt. The correction for continuity, on by default, takes 1 from
# a difference of 0 and squares it, and what is then divided by the number of sentences on which the models differ, 0, is
# infinite. numpy prints a RuntimeWarning, once.
# So with any tie, 3 sentences to 3: the correction, made so that the test finds less, takes p from 1.0 to 0.68.
# Both libraries' exact test gives 1.0, and so do statsmodels' own SquareTable.symmetry and homogeneity, the same test without
# a correction; by its notes "the results when the chisquare distribution is used are identical, except for continuity
# correction". Without the correction, mcnemar of both gives nan for no difference at all, and 1.0 for 3 to 3.
#
# Seen, p for (wrong, right) 0 to 0, 3 to 3 and 5 to 1: statsmodels exact=False 0.0, 0.6831, 0.2207; mlxtend 0.0, 0.6831,
# 0.2207; exact 1.0, 1.0, 0.2188; symmetry and homogeneity 1.0, 1.0, 0.1025; without a correction nan, 1.0, 0.1025.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 mlxtend==0.25.0 numpy==2.4.6 \
  scipy==1.17.1 pandas==3.1.1
"$folder/venv/bin/python" -W ignore::RuntimeWarning - <<'EOF'
import sys

import mlxtend.evaluate
import numpy as np
from statsmodels.stats import contingency_tables as tables

SAME = [(True, True)] * 150 + [(False, False)] * 44  # for each sentence, whether the one model and the other is right
DIFFERENT = {
    "0 to 0": [],
    "3 to 3": [(True, False)] * 3 + [(False, True)] * 3,
    "5 to 1": [(True, False)] * 5 + [(False, True)],
}
TESTS = {
    "statsmodels, exact=False": lambda table: tables.mcnemar(table, exact=False).pvalue,
    "mlxtend": lambda table: mlxtend.evaluate.mcnemar(table)[1],
    "statsmodels, exact": lambda table: tables.mcnemar(table).pvalue,
    "mlxtend, exact": lambda table: mlxtend.evaluate.mcnemar(table, exact=True)[1],
    "statsmodels, symmetry": lambda table: tables.SquareTable(table).symmetry().pvalue,
    "statsmodels, homogeneity": lambda table: tables.SquareTable(table).homogeneity().pvalue,
    "statsmodels, not corrected": lambda table: tables.mcnemar(table, exact=False, correction=False).pvalue,
    "mlxtend, not corrected": lambda table: mlxtend.evaluate.mcnemar(table, corrected=False)[1],
}
EXACT, PLAIN = ["1.0", "1.0", "0.2188"], ["1.0", "1.0", "0.1025"]
CORRECTED, BARE = ["0.0", "0.6831", "0.2207"], ["nan", "1.0", "0.1025"]


def table_of(sentences):
    verdicts = np.array(sentences).T
    return mlxtend.evaluate.mcnemar_table(np.ones(len(sentences)), *verdicts.astype(int))


found = {}
for name, test in TESTS.items():
    found[name] = [str(round(float(test(table_of(SAME + sentences))), 4)) for sentences in DIFFERENT.values()]
    print(f"{name}: " + ", ".join(f"{case}: p = {p}" for case, p in zip(DIFFERENT, found[name])))
sys.exit(list(found.values()) != [CORRECTED, CORRECTED, EXACT, EXACT, PLAIN, PLAIN, BARE, BARE])
EOF
