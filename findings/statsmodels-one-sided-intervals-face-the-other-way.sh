#!/bin/sh
# statsmodels 0.15.0: proportion_confint and confint_poisson take alternative="larger", as its tests do ("whether to calculate
# a two-sided or one-sided confidence interval", new in 0.15). They return the interval of the other side: from 0 up to a bound.
# The docstrings have "lower or upper bound is set to 0 or 1 respectively", which fits, and not that the tests face the other way.
# The test with "larger" asks whether a share is larger than a value, and what it cannot rule out begins at a lower bound and
# has no end. So have statsmodels' own zconfint_mean and tconfint_mean, whose alternative is that "for the test that corresponds
# to the confidence interval", and scipy 1.17.1 with "greater".
# Who reports that at least so many of a model's corrections are right has 0.0 as the bound for any count, and who
# reports that at most so many of its requests fail has 1.0. alternative="smaller" gives the bound that "larger" should.
#
# Seen, 30 of 100, for larger and smaller: proportion_confint (wilson) 0.0 to 0.3798, 0.2307 to 1.0; confint_poisson (score) 0.0
# to 0.4046, 0.2224 to inf; zconfint_mean 0.2242 to inf, -inf to 0.3758; tconfint_mean 0.2235 to inf, -inf to 0.3765; scipy
# (wilson) 0.2307 to 1.0, 0.0 to 0.3798. p of the test whether the share is larger than 0.2, a value that proportion_confint has
# within its interval for "larger": 0.0062. p at its two bounds, 0.3798 with "larger", 0.2307 with "smaller": 0.95.
# Exit 1 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check statsmodels==0.15.0 scipy==1.17.1 numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/python" - <<'EOF'
import sys

from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint, proportions_ztest
from statsmodels.stats.rates import confint_poisson
from statsmodels.stats.weightstats import DescrStatsW

RIGHT, ALL = 30, 100
SCIPYS = {"larger": "greater", "smaller": "less"}
sample = DescrStatsW([1] * RIGHT + [0] * (ALL - RIGHT))
INTERVALS = {
    "proportion_confint": lambda side: proportion_confint(RIGHT, ALL, method="wilson", alternative=side),
    "confint_poisson": lambda side: confint_poisson(RIGHT, ALL, method="score", alternative=side),
    "zconfint_mean": lambda side: sample.zconfint_mean(alternative=side),
    "tconfint_mean": lambda side: sample.tconfint_mean(alternative=side),
    "scipy": lambda side: binomtest(RIGHT, ALL, alternative=SCIPYS[side]).proportion_ci(method="wilson"),
}
INFINITE = float("inf")
SEEN = {
    "proportion_confint": [(0.0, 0.3798), (0.2307, 1.0)],
    "confint_poisson": [(0.0, 0.4046), (0.2224, INFINITE)],
    "zconfint_mean": [(0.2242, INFINITE), (-INFINITE, 0.3758)],
    "tconfint_mean": [(0.2235, INFINITE), (-INFINITE, 0.3765)],
    "scipy": [(0.2307, 1.0), (0.0, 0.3798)],
}


def p(share, side):
    return round(float(proportions_ztest(RIGHT, ALL, value=share, alternative=side, prop_var=share)[1]), 4)


found = {}
for name, interval in INTERVALS.items():
    found[name] = [tuple(round(float(bound), 4) for bound in interval(side)) for side in SCIPYS]
    print(f"{name}: " + ", ".join(f"{side}: {low} to {high}" for side, (low, high) in zip(SCIPYS, found[name])))
upper, lower = (INTERVALS["proportion_confint"](side)[bound] for side, bound in (("larger", 1), ("smaller", 0)))
values = p(0.2, "larger"), p(upper, "larger"), p(lower, "smaller")
print(f"test, p: larger than 0.2: {values[0]}; larger than {upper:.4f}: {values[1]}; smaller than {lower:.4f}: {values[2]}")
sys.exit(found != SEEN or values != (0.0062, 0.95, 0.95))
EOF
