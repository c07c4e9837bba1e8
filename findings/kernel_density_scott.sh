#!/usr/bin/env bash
# Guess: bandwidth="scott" of scikit-learn's KernelDensity is Scott's rule, as in scipy.stats.gaussian_kde:
# n^(-1 / (d + 4)) times the standard deviation of the sample.
# Seen, scikit-learn 1.9.1: the factor alone. The bandwidth does not depend on the values: a sample of
# standard deviation 1,000 gets a bandwidth of .29 in place of 293, so that its estimated density is a comb of
# single points. The rule is right for standardized samples only. "silverman" does the same.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q scikit-learn==1.9.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import sklearn
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity

print("scikit-learn", sklearn.__version__)
sample = 1000.0 * np.random.default_rng(0).normal(size=500)
new = 1000.0 * np.random.default_rng(1).normal(size=500)
for rule in ("scott", "silverman"):
    one = KernelDensity(bandwidth=rule).fit(sample[:, None])
    other = gaussian_kde(sample, rule)
    widths = one.bandwidth_, float(np.sqrt(other.covariance[0, 0]))
    likelihoods = one.score(new[:, None]) / 500, float(other.logpdf(new).mean())
    print(rule, "bandwidths", widths, "log-likelihoods of a new value", likelihoods)
    assert np.isclose(one.bandwidth_, other.factor) and likelihoods[0] < -1000.0, "no longer holds"
PYTHON
