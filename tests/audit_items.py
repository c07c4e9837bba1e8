"""The papers' items beside their public names: naive computations from the papers' text.

``python tests/audit_items.py`` prints the table: item, public name, digits that agree.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import probabilistic_reference as probabilistic
import reference
from clustering_cases import dependence
from reference import Matrix, center, gaussian, target_kernel
from stagewise_reference import algorithm_1, one_parameter

from mercer import (
    L2KRR,
    AlignmentMaximization,
    ContinuousAlignment,
    HSICClustering,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.datasets import make_sine
from mercer.kernels import Dirichlet, Gaussian, Linear
from mercer.metrics import alignment, alignment_bounds, centered_alignment, hsic
from mercer.probabilistic import GaussianLikelihood, LogisticLikelihood, posterior

Pair = tuple[Matrix, Matrix]
"""What the paper's text gives, and what the public name gives."""

CORTES = "Cortes, Mohri, Rostamizadeh 2010"
AFKANPOUR = "Afkanpour, Szepesvari, Bowling 2013"
NICKISCH = "Nickisch, Seeger 2011"
WANG = "Wang, Li 2018"

WIDTHS = [0.7, 1.5, 4.0]
KERNELS = [Gaussian(width) for width in WIDTHS]
WEIGHTS = np.array([0.5, 1.0, 2.0])


@dataclass(frozen=True)
class Item:
    """A method or a quantity of a paper.

    Attributes
    ----------
    paper, item, public : str
        The paper, the place in it, and the public name.
    digits : float
        As many digits agree at least.
    compared : callable
        Computes both.
    """

    paper: str
    item: str
    public: str
    digits: float
    compared: Callable[[], Pair]

    def agreement(self) -> float:
        """Digits that agree: -log10 of the largest difference, relative to the largest value."""
        naive, public = (np.asarray(value, dtype=float) for value in self.compared())
        assert naive.shape == public.shape
        error = np.abs(naive - public).max() / np.abs(naive).max()
        return float(min(-np.log10(max(error, 1e-16)), 16.0))


def table() -> tuple[Matrix, Matrix, Matrix, list[Matrix]]:
    """Samples, labels, their kernel, and three Gram matrices."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=60) > 0.5, 1.0, -1.0)
    return X, y, target_kernel(y), [gaussian(X, width) for width in WIDTHS]


def of_gram(naive: Callable[..., float], public: Callable[..., float]) -> Callable[[], Pair]:
    """Compare a measure of a Gram matrix and labels."""

    def compared() -> Pair:
        _, y, L, grams = table()
        return np.array([naive(K, L) for K in grams]), np.array([public(K, y) for K in grams])

    return compared


def align() -> Pair:
    X, y, L, grams = table()
    rho = np.array([reference.centered_alignment(K, L) for K in grams])
    return rho / rho.sum(), IndependentAlignment(KERNELS).fit(X, y).weights_


def free() -> Pair:
    """Proposition 2: M^-1 a, here of absolute sum one."""
    X, y, L, grams = table()
    a, M = reference.moments(grams, L)
    weights = np.linalg.solve(M, a)
    learner = AlignmentMaximization(KERNELS, signs="free", clip_spectrum=True).fit(X, y)
    return weights / np.abs(weights).sum(), learner.weights_


def nonnegative() -> Pair:
    X, y, L, grams = table()
    return reference.alignf(grams, L), AlignmentMaximization(KERNELS).fit(X, y).weights_


def uniform() -> Pair:
    X, y, _, grams = table()
    learner = UniformCombination(KERNELS).fit(X, y)
    return np.mean(grams, axis=0), learner.scale_ * learner.kernel_(X)


def rank_one() -> Pair:
    """Section 5.2: one kernel of rank one for each feature."""
    X, y, L, _ = table()
    rho = np.array([reference.centered_alignment(np.outer(x, x), L) for x in X.T])
    learner = IndependentAlignment([Linear(per_feature=True)]).fit(X, y)
    return rho / rho.sum(), learner.weights_


def ridge() -> Pair:
    """The interpolated iteration of l2-krr: mu = mu0 + Lambda v / |v|, v_k = a'K_k a."""
    X, _, _, grams = table()
    y, alpha, mu0 = X[:, 0] ** 2, 0.5, np.full(3, 1.0 / 3.0)
    mu, dual = mu0, np.linalg.solve(np.tensordot(mu0, grams, axes=1) + alpha * np.eye(60), y)
    for _ in range(400):
        v = np.array([dual @ K @ dual for K in grams])
        mu = mu0 + v / np.linalg.norm(v)
        system = np.tensordot(mu, grams, axes=1) + alpha * np.eye(60)
        dual = 0.5 * dual + 0.5 * np.linalg.solve(system, y)
    settings = {"normalize": None, "fit_intercept": False, "tol": 1e-12}
    model = L2KRR(KERNELS, alpha=alpha, center="uniform", radius=1.0, **settings).fit(X, y)
    return mu, model.weights_


def theorems() -> Pair:
    _, y, L, grams = table()
    K, m, delta = grams[1], 60, 0.05
    Kc, Lc = center(K), center(L)
    rho = reference.centered_alignment(K, L)
    beta = max(1.0 / np.mean(Kc**2), 1.0 / np.mean(Lc**2))
    ratio = np.sqrt(np.mean(Kc**2, axis=1).max() / np.mean(Kc**2))
    deviation = 18.0 * beta * (3.0 / m + 4.0 * np.sqrt(np.log(6.0 / delta) / (2.0 * m)))
    reached = rho * np.sqrt(np.mean(Lc**2))
    h = Kc @ y / m / np.sqrt(np.mean(Kc**2))
    found = alignment_bounds(K, y, delta)
    return (
        np.array([deviation, 1.0 - reached / ratio, 2.0 * (1.0 - reached), *h]),
        np.array([found.deviation, found.error, found.mean_squared_error, *found.predict(K)]),
    )


def stagewise(learner: ContinuousAlignment, X: Matrix, y: Matrix, searches: list) -> Pair:
    """Alignments of all steps of Algorithm 1, and the learned kernel."""
    learner.fit(X, y)
    expected = algorithm_1(target_kernel(y), searches, eps=1e-10, T=50, theta=1e-3, eta_max=1.0)
    total = sum(eta * K for eta, K in zip(expected.etas, expected.grams, strict=True))
    public = sum(step.step_size for step in learner.history_) * learner.scale_ * learner.kernel_(X)
    reached = [step.alignment for step in learner.history_]
    size = np.abs(total).max()
    return (
        np.append(expected.alignments, total.ravel() / size),
        np.append(reached, public.ravel() / size),
    )


def stagewise_gaussian() -> Pair:
    X, y, _, _ = table()
    search = one_parameter(lambda s: gaussian(X, s), *Gaussian().log_bounds(X)[0])
    return stagewise(ContinuousAlignment(step="stagewise"), X, y, [search])


def stagewise_dirichlet() -> Pair:
    X, y = make_sine(80, random_state=0)
    distances, bounds = np.abs(X - X.T), (0.5, 12.0)
    search = one_parameter(lambda s: 1.0 + 2.0 * np.cos(s * distances), *np.log(bounds), n=6000)
    return stagewise(
        ContinuousAlignment(Dirichlet(bounds=bounds), step="stagewise"), X, y, [search]
    )


def evidence(name: str) -> Callable[[], Pair]:
    """Compare an objective of given weights, on the -2 log scale."""

    def compared() -> Pair:
        X, y, _, grams = table()
        K, logistic = np.tensordot(WEIGHTS, grams, axes=1), probabilistic.NaiveLogistic()
        if name == "marginal_likelihood":
            naive = probabilistic.gaussian_evidence(K, y, 0.2)
        elif name == "vb":
            naive = probabilistic.variational(K, y, logistic)[0]
        elif name == "laplace":
            naive = probabilistic.laplace_approximation(K, y)[0]
        elif name == "map":
            naive = probabilistic.joint_map(K, y, logistic, 0.3)
        else:
            naive = probabilistic.mkl(K, y, logistic, WEIGHTS, weight_penalty=0.7, norm=1.5)
        gaussian_noise = name == "marginal_likelihood"
        found = posterior(
            X,
            y,
            KERNELS,
            WEIGHTS,
            likelihood=GaussianLikelihood(0.2) if gaussian_noise else LogisticLikelihood(),
            objective=name,  # type: ignore[arg-type]
            jitter=0.3,
            weight_penalty=0.7,
            norm=1.5,
        )
        return np.array([naive]), np.array([found.objective])

    return compared


def best_hsic() -> Pair:
    """The best width by a scan and Brent's method."""
    X, y, L, _ = table()
    search = one_parameter(lambda s: gaussian(X, s), *Gaussian().log_bounds(X)[0])
    K = search(center(L))[0]
    return K, KernelOptimization(tol=1e-14).fit(X, y).kernels_[0](X)


def hsic_weights() -> Pair:
    """Equation 5 has all weight on the kernel of the largest HSIC."""
    X, y, L, grams = table()
    values = np.array([reference.hsic(K, L) for K in grams])
    return np.eye(3)[values.argmax()], HSICWeights(KERNELS, norm=1).fit(X, y).weights_


def clustering() -> Pair:
    X, _, _, grams = table()
    found = HSICClustering(3, Gaussian(WIDTHS[1]), random_state=0).fit(X)
    return (
        np.array([dependence(grams[1], np.eye(3), found.labels_)]),
        np.array([found.objective_]),
    )


ITEMS = [
    Item(CORTES, "definition 2", "metrics.centered_alignment", 13, of_gram(
        reference.centered_alignment, centered_alignment)),
    Item(CORTES, "section 2.2, without centering", "metrics.alignment", 13, of_gram(
        reference.alignment, alignment)),
    Item(CORTES, "unif", "UniformCombination", 13, uniform),
    Item(CORTES, "align", "IndependentAlignment", 11, align),
    Item(CORTES, "alignf, proposition 2", 'AlignmentMaximization(signs="free")', 9, free),
    Item(CORTES, "alignf, proposition 3", "AlignmentMaximization", 9, nonnegative),
    Item(CORTES, "kernels of rank one", "Linear(per_feature=True)", 11, rank_one),
    Item(CORTES, "l2-krr", "L2KRR", 5, ridge),
    Item(CORTES, "theorems 1 to 3", "metrics.alignment_bounds", 11, theorems),
    Item(AFKANPOUR, "Algorithm 1, Gaussian kernels", 'ContinuousAlignment(step="stagewise")', 6,
         stagewise_gaussian),
    Item(AFKANPOUR, "Algorithm 1, Dirichlet kernels", 'ContinuousAlignment(step="stagewise")', 6,
         stagewise_dirichlet),
    Item(NICKISCH, "marginal likelihood, equation 6", 'posterior(objective="marginal_likelihood")',
         11, evidence("marginal_likelihood")),
    Item(NICKISCH, "variational bound", 'posterior(objective="vb")', 8, evidence("vb")),
    Item(
        NICKISCH,
        "Laplace's approximation",
        'posterior(objective="laplace")',
        8,
        evidence("laplace"),
    ),
    Item(NICKISCH, "joint MAP, equation 4", 'posterior(objective="map")', 8, evidence("map")),
    Item(NICKISCH, "MKL, equation 3", 'posterior(objective="mkl")', 8, evidence("mkl")),
    Item(WANG, "HSIC", "metrics.hsic", 13, of_gram(reference.hsic, hsic)),
    Item(WANG, "the width of the largest HSIC", "KernelOptimization", 6, best_hsic),
    Item(WANG, "weights, equation 5", "HSICWeights(norm=1)", 16, hsic_weights),
    Item(WANG, "CLUHSIC, the objective", "HSICClustering", 11, clustering),
]  # fmt: skip


def main() -> None:
    """Print the table."""
    for item in ITEMS:
        print(f"{item.paper:36} {item.item:34} {item.public:46} {item.agreement():5.1f}")  # noqa: T201


if __name__ == "__main__":
    main()
