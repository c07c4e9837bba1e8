#!/usr/bin/env bash
# Guess: Matern32, Matern52 and RationalQuadratic of a library of Gaussian processes are the textbook's
# functions of the Euclidean distance, and positive semi-definite, in any number of columns.
# Seen, tinygp 0.3.1: by default they are functions of the sum of absolute differences (documented).
# For one column that is the same. For two columns they are not positive semi-definite: the smallest
# eigenvalues on 25 points of a grid are -.14, -.20 and -.15, and a sample of 300 normal rows has
# -.41, -.82 and -.73. With distance=L2Distance() none is below -1e-10. Exp is a kernel with both
# distances. (Reports call it a numerical instability: dfm/tinygp#122, #258.)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q tinygp==0.3.1 jax==0.10.2 numpy==2.4.6 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import jax

jax.config.update("jax_enable_x64", True)
import numpy as np
import tinygp
from tinygp import kernels

print("tinygp", tinygp.__version__, "jax", jax.__version__, "numpy", np.__version__)
steps = 0.5 * np.arange(5)
grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
sample = np.random.default_rng(0).normal(size=(300, 2))
KINDS = {
    "Exp": lambda **given: kernels.Exp(**given),
    "Matern32": lambda **given: kernels.Matern32(**given),
    "Matern52": lambda **given: kernels.Matern52(**given),
    "RationalQuadratic": lambda **given: kernels.RationalQuadratic(alpha=1.0, **given),
}


def smallest(kernel, rows):
    return float(np.linalg.eigvalsh(np.asarray(kernel(rows, rows)))[0])


holds = True
origin, row = np.zeros(3), np.array([1.0, 2.0, 3.0])
for name, make in KINDS.items():
    default, euclidean = make(), make(distance=kernels.distance.L2Distance())
    found = [smallest(kernel, rows) for kernel in (default, euclidean) for rows in (grid, sample)]
    one_column = abs(smallest(default, sample[:, :1]) - smallest(euclidean, sample[:, :1]))
    print(f"{name:18} smallest eigenvalue: default {found[0]:.2f} and {found[1]:.2f}", end="")
    print(f", Euclidean {found[2]:.1e} and {found[3]:.1e}")
    holds &= min(found[2:]) > -1e-10 and one_column < 1e-10
    holds &= min(found[:2]) > 0.0 if name == "Exp" else max(found[:2]) < -0.1
value = float(kernels.Matern32().evaluate(origin, row))
scaled = [np.sqrt(3) * distance for distance in (6.0, np.sqrt(14.0))]
by_sum, by_root = ((1 + r) * np.exp(-r) for r in scaled)
print(f"Matern32 of (0, 0, 0) and (1, 2, 3): {value:.6f}; |.|_1 {by_sum:.6f}, |.|_2 {by_root:.6f}")
holds &= abs(value - by_sum) < 1e-12
assert holds, "the finding no longer holds"
PYTHON
