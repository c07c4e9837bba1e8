#!/usr/bin/env bash
# Guess: the Gaussian covariance of length 1, the same name in three libraries of geostatistics, is the same
# function of the distance h, perhaps exp(-h^2) or exp(-h^2 / 2).
# Seen, PyKrige 1.7.3, GSTools 1.7.0, scikit-gstat 1.0.26: at h = .5, it is .47, .82 and .37 (exp(-h^2) is .78): they are
# exp(-(7 h / 4)^2), exp(-pi h^2 / 4) and exp(-4 h^2). A fitted length cannot be carried from one to the other
# without the factor. The exponential covariances differ as well, .22, .61, .22.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q PyKrige==1.7.3 gstools==1.7.0 scikit-gstat==1.0.26 || exit 2
"$work/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import gstools
import numpy as np
from pykrige import variogram_models
from skgstat import models

print({name: version(name) for name in ("PyKrige", "gstools", "scikit-gstat")})
h = np.array([0.5, 1.0])
found = {
    "PyKrige": 1.0 - variogram_models.gaussian_variogram_model([1.0, 1.0, 0.0], h),
    "GSTools": gstools.Gaussian(dim=1, var=1.0, len_scale=1.0).correlation(h),
    "scikit-gstat": 1.0 - np.array([models.gaussian(x, 1.0, 1.0) for x in h]),
}
factors = {"PyKrige": (7.0 / 4.0) ** 2, "GSTools": np.pi / 4.0, "scikit-gstat": 4.0}
for name, values in found.items():
    print(name, values, "factor of h^2:", factors[name])
    assert np.allclose(values, np.exp(-factors[name] * h**2), atol=1e-12), "no longer holds"
exponential = (
    1.0 - variogram_models.exponential_variogram_model([1.0, 1.0, 0.0], h)[0],
    gstools.Exponential(dim=1, len_scale=1.0).correlation(h)[0],
    1.0 - models.exponential(0.5, 1.0, 1.0),
)
print("exponential", exponential)
assert np.allclose(exponential, np.exp([-1.5, -0.5, -1.5])), "no longer holds"
PYTHON
