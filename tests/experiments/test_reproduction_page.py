"""The pages that are written from the committed records, their verdicts and their tests."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from experiments import catalog
from experiments.__main__ import DOCS, RECORDS
from experiments.reporting.choosing_page import choosing
from experiments.reporting.reproduction_page import (
    DETAILS,
    Chapter,
    claims_page,
    details,
    own_page,
    read,
)
from experiments.reporting.results import (
    LEVEL,
    compare,
)
from experiments.reporting.section import (
    Verdict,
    judge,
)
from experiments.reporting.table_results import (
    holm,
    rank,
)
from experiments.running import Archive


@pytest.fixture(scope="module")
def chapters() -> Sequence[Chapter]:
    return read(Archive(RECORDS), small=False)


def test_claims_lead_to_the_pages_of_their_experiments(chapters: Sequence[Chapter]) -> None:
    page = (DOCS / "reproduction.md").read_text()
    assert claims_page(chapters) == page
    numbers = re.findall(rf"\| \[(\d+)\]\({DETAILS}/(\w+\.md)#claims\)", page)
    for number, name in numbers:
        assert (
            f"\n**{number}. " in (DOCS / DETAILS / name).read_text().partition("\n## Claims\n")[2]
        )
    assert len(numbers) == sum(len(chapter.section.claims) for chapter in chapters)
    assert len(numbers) >= 24
    assert len(page.split()) < 5000


def test_pages_of_experiments_are_what_the_records_say(chapters: Sequence[Chapter]) -> None:
    assert {chapter.name for chapter in chapters} == set(catalog.names())
    written = {path.stem: path.read_text() for path in (DOCS / DETAILS).iterdir()}
    assert details(chapters) == written
    contents = (DOCS / "reproduction.md").read_text()
    for name, page in written.items():
        assert f"\n{DETAILS}/{name}\n" in contents
        assert f"]({DETAILS}/{name}.md)" in contents
        assert len(page) < 100_000
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
            assert (DOCS / DETAILS / picture).exists()


def test_the_choice_of_methods_is_argued_from_the_records(chapters: Sequence[Chapter]) -> None:
    page = choosing({chapter.name: chapter.results for chapter in chapters})
    assert page == (DOCS / "choosing.md").read_text()


@pytest.mark.parametrize("name", catalog.PAGES)
def test_an_experiment_with_a_page_of_its_own_is_linked(
    name: str, chapters: Sequence[Chapter]
) -> None:
    [chapter] = [chapter for chapter in chapters if chapter.name == name]
    page = (DOCS / catalog.PAGES[name]).read_text()
    assert own_page(chapter) == page
    assert f"({catalog.PAGES[name]})" in claims_page(chapters)
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
        assert (DOCS / picture).exists()


@pytest.mark.parametrize(
    ("conditions", "verdict"),
    [
        ([True, True], Verdict.HOLDS),
        ([True, False], Verdict.IN_PART),
        ([True, False, False], Verdict.FAILS),
        ([False], Verdict.FAILS),
    ],
)
def test_a_claim_holds_in_part_if_half_of_its_conditions_are_met(
    conditions: list[bool], verdict: Verdict
) -> None:
    found = judge(conditions)
    assert found.verdict is verdict
    assert str(found) == f"**{verdict}** ({sum(conditions)} of {len(conditions)})"


def with_t_statistic(t: float) -> np.ndarray:
    """Three differences whose t-statistic, of two degrees of freedom, is given."""
    return t / np.sqrt(3.0) + np.array([-1.0, 0.0, 1.0])


def test_the_paired_test_is_two_tailed_at_five_percent() -> None:
    """Student's t of two degrees of freedom is beyond 4.303 with probability 0.05."""
    assert LEVEL == 0.05
    zeros = np.zeros(3)
    assert_allclose(compare(with_t_statistic(4.3027), zeros).p_value, 0.05, rtol=1e-4)
    assert [compare(with_t_statistic(t), zeros).sign for t in (4.2, 4.4)] == [0, 1]
    assert [compare(with_t_statistic(-t), zeros).sign for t in (4.2, 4.4)] == [0, -1]


@pytest.mark.parametrize("shared", [0.0, 0.25])
def test_the_correction_for_shared_rows_is_that_of_nadeau_and_bengio(shared: float) -> None:
    """Their variance is (1/J + n_test/n_train) s^2; without shared rows, that of the t-test."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 5)) + np.array([[1.0], [0.0]])
    d = first - second
    t = d.mean() / np.sqrt((1.0 / 5.0 + shared) * d.var(ddof=1))
    found = compare(first, second, **({"test_to_train": shared} if shared else {}))
    assert found.difference == pytest.approx(d.mean())
    assert_allclose(found.p_value, 2.0 * stats.t.sf(abs(t), 4), rtol=1e-12)


def test_the_critical_difference_is_that_of_demsar() -> None:
    """Demsar (2006, section 3.2.2): four methods on 14 data sets, 2.569 sqrt(20/84) = 1.25."""
    rng = np.random.default_rng(0)
    means = pd.DataFrame(rng.random((14, 4)), columns=list("abcd"))
    found = rank(means)
    assert_allclose(found.critical_difference, 2.569 * np.sqrt(20.0 / 84.0), atol=2e-3)
    assert_allclose(found.ranks.sum(), 10.0)
    assert found.p_value == pytest.approx(stats.friedmanchisquare(*means.to_numpy().T).pvalue)


def test_holm_multiplies_by_the_number_of_hypotheses_left() -> None:
    assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    assert_allclose(holm(np.array([0.5, 0.9])), [1.0, 1.0])
    assert holm(np.empty(0)).size == 0
