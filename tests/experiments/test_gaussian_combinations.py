"""Kernels, and verdicts on claims, of the experiment on Table 1 of Cortes et al. (2010)."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.testing import assert_allclose
from synthetic_results import synthetic_results

from experiments.problems import Split
from experiments.reporting.results import Results
from experiments.reporting.section import Verdict, section_of
from experiments.studies import gaussian_combinations as study
from mercer.kernels import Gaussian

RAW, STANDARDIZED = ["kinematics"], ["kinematics, standardized"]
N_FOLDS, N_REPEATS = 2, 3


def by_fold(levels: Mapping[str, Mapping[str, float]]) -> Results:
    """Methods whose measures are the same on every fold and repeat, with and without scaling."""
    measured = {
        method: {name: [[level] * N_FOLDS] * N_REPEATS for name, level in measures.items()}
        for method, measures in levels.items()
    }
    return synthetic_results(dict.fromkeys((*RAW, *STANDARDIZED), measured))


def with_errors(**errors: float) -> Results:
    """Methods of given errors; their names have underscores for hyphens and spaces."""
    names = {"one_stage": "one-stage", "grid_search": "grid search"}
    return by_fold({names.get(name, name): {"error": error} for name, error in errors.items()})


def test_widths_are_those_of_the_papers_table() -> None:
    exponents = {name: (low, high) for name, (_, _, low, high) in study.SETS.items()}
    assert exponents == {
        "kinematics": (-3, 3),
        "ionosphere": (-3, 3),
        "german": (-4, 3),
        "spambase": (-12, -7),
        "splice": (-9, -3),
    }


def test_gammas_of_the_dictionary_are_powers_of_two() -> None:
    X = np.random.default_rng(0).normal(size=(4, 2))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    kernels = study.dictionary(-4, 3)
    assert len(kernels) == 8
    for g, kernel in zip(range(-4, 4), kernels, strict=True):
        assert_allclose(kernel(X), np.exp(-(2.0**g) * squares), atol=1e-12)


def test_standardized_features_have_widths_around_the_root_of_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(50, 9))
    monkeypatch.setattr(study, "whole", lambda name: (X, np.arange(50.0)))
    folds = study.standardized(0, name="kinematics", n_samples=50)
    bandwidths = [kernel.bandwidth for kernel in folds.kernels]
    assert_allclose(bandwidths, [0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 48.0, 96.0])
    tested = np.concatenate([split.test[0] for split in folds.splits])
    assert_allclose([tested.mean(), tested.std()], [0.0, 1.0], atol=1e-12)


def test_the_grid_of_widths_is_centered_at_the_scale_of_scikit_learn() -> None:
    """Its ``gamma="scale"`` is 1 / (d var(X)), which is a bandwidth of sqrt(d var(X)) here."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    part = X, np.zeros(30)
    kernels = study.widths(Split(part, part, part))
    bandwidths = [kernel.bandwidth for kernel in kernels if isinstance(kernel, Gaussian)]
    assert_allclose(bandwidths, np.sqrt(4.0 * X.var()) * 2.0 ** np.arange(-4, 5))


@pytest.mark.parametrize("rival", ["unif", "one_stage"])
@pytest.mark.parametrize(
    ("align", "alignf", "verdict", "lower"),
    [
        (0.25, 0.25, Verdict.HOLDS, "lower on 1 of 1, significantly on 1"),
        (0.75, 0.25, Verdict.IN_PART, "lower on 0 of 1, significantly on 0"),
        (0.25, 0.75, Verdict.IN_PART, "lower on 1 of 1, significantly on 1"),
        (0.75, 0.75, Verdict.FAILS, "lower on 0 of 1, significantly on 0"),
    ],
)
def test_alignment_improves_where_errors_are_lower_than_the_rivals(
    rival: str, align: float, alignf: float, verdict: Verdict, lower: str
) -> None:
    results = with_errors(**{rival: 0.5, "align": align, "alignf": alignf, "grid_search": 0.5})
    claim = study.improvement(results, RAW, STANDARDIZED, rival.replace("_", "-"))
    assert claim.verdict is verdict
    assert f"alignf: kinematics {alignf - 0.5:+.3f}, significant; align: {lower}" in claim.result
    n_lower = int(align < 0.5) + int(alignf < 0.5)
    counts = f"of 2 differences {n_lower} are negative, {n_lower} of them significantly"
    assert claim.result.endswith(f"{counts} (corrected resampled t-test)")
    assert f"Features standardized, alignf: kinematics {alignf - 0.5:+.3f}" in claim.why
    assert f"lower on {int(alignf < 0.5)} of 1" in claim.why


def test_differences_within_the_noise_are_negative_but_not_significant() -> None:
    errors = {"unif": [0.5, 0.5], "align": [0.0, 0.9], "alignf": [0.4, 0.45]}
    measured = {method: {"error": [folds] * N_REPEATS} for method, folds in errors.items()}
    results = synthetic_results(dict.fromkeys((*RAW, *STANDARDIZED), measured))
    claim = study.improvement(results, RAW, STANDARDIZED, "unif")
    assert claim.verdict is Verdict.HOLDS
    assert "of 2 differences 2 are negative, 1 of them significantly" in claim.result


def test_the_section_makes_five_claims() -> None:
    levels = {
        name: {"error": 0.5 - 0.125 * rank, "alignment": 0.125 * rank, "position": 0.0}
        for rank, name in enumerate((*study.METHODS, "grid search"), start=1)
    }
    claims = section_of(study, by_fold(levels)).claims
    assert len(claims) == 5
    assert {claim.verdict for claim in claims} == {Verdict.HOLDS}
