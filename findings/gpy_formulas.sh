#!/usr/bin/env bash
# Guess: GPy's RatQuad(power=a) is the textbook's (1 + r^2 / (2 a l^2))^-a, as in scikit-learn, and
# StdPeriodic is MacKay's exp(-2 sin^2(pi t / p) / l^2), as scikit-learn's ExpSineSquared.
# Seen, GPy 1.15.0: RatQuad is (1 + r^2 / (2 l^2))^-a, without a in its base (.590, textbook .511 at
# r = 1.5, a = .7), so that the textbook's length scale is l / sqrt(a); and StdPeriodic has 1/2 in
# place of 2 (.677 for .210), so that the textbook's length scale is 2 l.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q GPy==1.15.0 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import GPy
import numpy as np
import sklearn
from sklearn.gaussian_process.kernels import ExpSineSquared, RationalQuadratic

print("GPy", GPy.__version__, "scikit-learn", sklearn.__version__, "numpy", np.__version__)
x, z = np.array([[0.0]]), np.array([[1.5]])
length, alpha, period = 0.8, 0.7, 2.0
cases = {
    "RatQuad, length 1": (
        GPy.kern.RatQuad(1, lengthscale=1.0, power=alpha),
        RationalQuadratic(1.0, alpha),
        RationalQuadratic(1.0 / np.sqrt(alpha), alpha),
    ),
    "StdPeriodic, length .8": (
        GPy.kern.StdPeriodic(1, lengthscale=length, period=period),
        ExpSineSquared(length, period),
        ExpSineSquared(2.0 * length, period),
    ),
}
holds = True
for name, (peer, textbook, converted) in cases.items():
    value, same, other = peer.K(x, z)[0, 0], textbook(x, z)[0, 0], converted(x, z)[0, 0]
    print(f"{name}: GPy {value:.6f}, scikit-learn {same:.6f}, with the converted length {other:.6f}")
    holds &= abs(value - same) > 0.05 and abs(value - other) < 1e-12
assert holds, "the finding no longer holds"
PYTHON
