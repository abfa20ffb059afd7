#!/bin/sh
# nltk 3.10.4: AnnotationTask.weighted_kappa and weighted_kappa_pairwise divide the expected disagreement by max_distance, and
# not the observed one, though Do_Kw_pairwise, which counts it, takes the same argument. In Cohen's formula of 1968, which the
# docstring names, it cancels out: the kappa of two judges does not depend on the unit of the distance. Here a scale of 1 to 4
# with its largest distance, 3, gives 1 - 3 * (1 - kappa), and judges who agree well seem to agree little better than chance.
# With the default of 1.0 the value is right: scikit-learn 1.9.1 has the same with linear weights.
#
# Seen, for ten sentences that two judges rate from 1 to 4: distance |a - b|: 0.7273, with max_distance 3: 0.1818; distance
# |a - b| / 3: 0.7273; from nltk's own Do_Kw(3) and the expected disagreement that it divided: 0.7273.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nltk==3.10.4
"$folder/venv/bin/python" - <<'EOF'
import sys

from nltk.metrics.agreement import AnnotationTask

JUDGES = [4, 3, 2, 4, 1, 3, 2, 4, 3, 1], [4, 3, 3, 4, 2, 3, 2, 3, 3, 1]
data = [(judge, item, label) for judge, labels in enumerate(JUDGES) for item, label in enumerate(labels)]
task = AnnotationTask(data, distance=lambda a, b: abs(a - b))
in_thirds = AnnotationTask(data, distance=lambda a, b: abs(a - b) / 3)
by_three = task.weighted_kappa(max_distance=3.0)
assert by_three == task.weighted_kappa_pairwise(0, 1, max_distance=3.0)
expected = task.Do_Kw() / (1 - by_three)
found = {
    "|a - b|": task.weighted_kappa(),
    "|a - b|, max_distance 3": by_three,
    "|a - b| / 3": in_thirds.weighted_kappa(),
    "1 - Do_Kw(3) / expected": 1 - task.Do_Kw(max_distance=3.0) / expected,
}
found = {name: round(kappa, 4) for name, kappa in found.items()}
for name, kappa in found.items():
    print(f"{name}: {kappa}")
sys.exit(list(found.values()) != [0.7273, 0.1818, 0.7273, 0.7273])
EOF
