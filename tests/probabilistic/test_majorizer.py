"""The second-order model of a majorizer against the Newton step of the naive objective."""

import numpy as np
from numpy.testing import assert_allclose

from mercer._gram.kernel_products import base_grams
from mercer._gram.samples import Samples
from mercer.kernels import Gaussian
from mercer.probabilistic import GaussianLikelihood
from mercer.probabilistic._descent import minimize_latents
from mercer.probabilistic._majorizer import NewtonModel
from mercer.probabilistic._objectives import PenalizedRisk, Problem


def test_a_newton_step_in_the_weights_is_that_of_the_objective_at_its_best_latent_values() -> None:
    """G(w) = y'(K_w + noise I)^-1 y + penalty sum w - barrier sum ln w."""
    rng = np.random.default_rng(0)
    X, kernels = rng.normal(size=(25, 2)), [Gaussian(s) for s in (0.5, 1.5, 4.0)]
    y, weights = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=25), np.array([0.7, 0.2, 1.5])
    noise, penalty, barrier = 0.3, 0.8, 0.05
    objective = PenalizedRisk(GaussianLikelihood(noise), penalty)
    problem = Problem(objective, base_grams(Samples(X), kernels, centered=False), y[:, None])
    found = minimize_latents(problem, problem.start(weights))
    model = NewtonModel(found.majorizer, problem.Y, found.point, barrier, 0.0)
    direction = model.direction()
    grams = np.stack([kernel(X) for kernel in kernels])
    A = np.tensordot(weights, grams, axes=1) + noise * np.eye(25)
    c = np.linalg.solve(A, y)
    gradient = penalty - np.einsum("i,mij,j->m", c, grams, c) - barrier / weights
    products = grams @ c
    H = 2.0 * products @ np.linalg.solve(A, products.T) + np.diag(barrier / weights**2)
    step = -np.linalg.solve(H, gradient)
    assert_allclose(direction.weights, step, rtol=1e-5)
    assert_allclose(direction.slope, gradient @ step, rtol=1e-5)
