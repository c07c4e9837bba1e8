#!/usr/bin/env bash
# Guess: GPyTorch's PeriodicKernel is MacKay's exp(-2 sin^2(pi t / p) / l^2), as scikit-learn's
# ExpSineSquared, since its parameter is called lengthscale.
# Seen, GPyTorch 1.15.2 with PyTorch 2.13.0: the length scale is not squared (documented), so that it
# has no unit of length: .286505, textbook .209611 at t = 1.5, p = 2, l = .8. sqrt(l) converts it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --retries 1 --extra-index-url https://download.pytorch.org/whl/cpu \
  torch==2.13.0+cpu gpytorch==1.15.2 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import gpytorch
import numpy as np
import sklearn
import torch
from sklearn.gaussian_process.kernels import ExpSineSquared

print("GPyTorch", gpytorch.__version__, "PyTorch", torch.__version__)
print("scikit-learn", sklearn.__version__, "numpy", np.__version__)
x, z = np.array([[0.0]]), np.array([[1.5]])
length, period = 0.8, 2.0
kernel = gpytorch.kernels.PeriodicKernel().double()
kernel.lengthscale, kernel.period_length = length, period
value = kernel(torch.tensor(x), torch.tensor(z)).to_dense().item()
textbook = ExpSineSquared(length, period)(x, z)[0, 0]
converted = ExpSineSquared(np.sqrt(length), period)(x, z)[0, 0]
print(f"GPyTorch {value:.6f}, scikit-learn {textbook:.6f}, scikit-learn with sqrt(l) {converted:.6f}")
assert abs(value - textbook) > 0.05 and abs(value - converted) < 1e-6, "the finding no longer holds"
PYTHON
