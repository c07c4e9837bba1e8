#!/usr/bin/env bash
# Guess: NumPy's expm1 and log1p take about as long as exp and log, and half the time in single
# precision.
# Seen, NumPy 2.4.6: only on processors with AVX-512. On others of x86-64 (all of Intel's for laptops
# since 2021, AMD's before Zen 4), exp, log and tanh have vector instructions of AVX2, but expm1,
# log1p, sinh, arctan and power to an array have none: in single precision, expm1 takes eight times
# the time of exp, as long as in double precision. A Gaussian kernel minus one, exp(-u) - 1, by
# t = tanh(u / 2) as -2 t / (1 + t), has all its digits in .6 of expm1's time.
# The script switches AVX-512 off by NumPy's own variable, so that all processors show the same.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy==2.4.6 || exit 2
export NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR"
"$work/venv/bin/python" -W ignore - <<'PYTHON'
from time import perf_counter

import numpy as np
from numpy.lib.introspect import opt_func_info

print("numpy", np.__version__)
names = ("exp", "log", "tanh", "expm1", "log1p", "sinh", "arctan", "power")
used = opt_func_info(func_name=f"^({'|'.join(names)})$", signature="^float32$")
vectors = {name: next(iter(used[name].values()))["current"] for name in names}
u = np.random.default_rng(0).uniform(0, 3, 60_000).astype(np.float32)


def seconds(function, x):
    def once():
        start = perf_counter()
        function(x)
        return perf_counter() - start

    return min(once() for _ in range(200))


def by_tanh(x):
    t = np.tanh(x * np.float32(0.5))
    return 2 * t / (1 - t)


unit = seconds(np.exp, u)
for name in names:
    if name != "power":
        print(f"{name:6} {vectors[name]:18} {seconds(getattr(np, name), u) / unit:5.1f} x exp")
print(f"power  {vectors['power']:18} {seconds(lambda x: x**u, u) / unit:5.1f} x exp")
double = seconds(np.expm1, u.astype(float)) / unit
print(f"expm1 in double precision  {double:5.1f} x exp")
tanh = seconds(by_tanh, -u) / unit
exact = np.expm1(-u.astype(float))
off = np.abs(by_tanh(-u) / exact - 1).max()
print(f"expm1 by tanh              {tanh:5.1f} x exp, relative error {off:.1e}")
fast = [name for name in names if not vectors[name].startswith("baseline")]
assert fast == ["exp", "log", "tanh"], "the finding no longer holds"
assert seconds(np.expm1, u) / unit > 3 and double > 3, "the finding no longer holds"
assert off < 1e-6 and tanh < 0.7 * seconds(np.expm1, u) / unit, "the finding no longer holds"
PYTHON
