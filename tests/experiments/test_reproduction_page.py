"""The pages that are written from the committed records, their verdicts and their tests."""

import re
from collections.abc import Sequence
from typing import Any

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
    Comparison,
    compare,
)
from experiments.reporting.section import judged
from experiments.reporting.table_results import (
    holm,
    rank,
)
from experiments.reporting.verdicts import NOT_MEASURED, Compared, Verdict, judge
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


YES, NO = Compared(True, 0), Compared(False, 0)


@pytest.mark.parametrize(
    ("conditions", "verdict", "text"),
    [
        ([True, True], Verdict.HOLDS, "(2 of 2)"),
        ([True, False], Verdict.IN_PART, "(1 of 2)"),
        ([True, False, False], Verdict.FAILS, "(1 of 3)"),
        ([False], Verdict.FAILS, "(0 of 1)"),
        ([True, None], Verdict.IN_PART, "1 of 2, 1 cannot be judged"),
        ([None], Verdict.UNDECIDED, "0 of 1, 1 cannot be judged"),
        ([False, None, None], Verdict.UNDECIDED, "0 of 3, 2 cannot be judged"),
        ([False, False, None], Verdict.FAILS, "0 of 3, 1 cannot be judged"),
        ([YES], Verdict.UNDECIDED, "1 of 1: 1 tie"),
        ([NO] * 3, Verdict.UNDECIDED, "0 of 3: 3 ties"),
        ([Compared(True, 1), YES], Verdict.HOLDS, "2 of 2: 1 clear, 1 tie"),
        ([Compared(False, -1), NO], Verdict.FAILS, "0 of 2: 1 clearly against"),
        ([Compared(True, 0, by_mean=False)], Verdict.HOLDS, "1 of 1: 1 tie"),
        ({"one": [True], "two": [True]}, Verdict.HOLDS, ""),
        ({"one": [False], "two": [False]}, Verdict.FAILS, ""),
        ({"one": [False, False], "two": [True] * 8}, Verdict.IN_PART, ""),
        ({"one": [True], "two": []}, Verdict.IN_PART, ""),
        ({"one": [False], "two": []}, Verdict.FAILS, ""),
        ({"one": [], "two": []}, Verdict.UNMEASURED, ""),
        ({"one": [True], "two": [None]}, Verdict.IN_PART, ""),
    ],
)
def test_verdicts_and_counts_of_conditions_and_of_statements(
    conditions: Any, verdict: Verdict, text: str
) -> None:
    found = judge(conditions)
    assert found.verdict is verdict
    assert text in str(found)


def test_what_was_not_measured_has_no_counts_and_needs_a_reason() -> None:
    assert str(judge(NOT_MEASURED)) == "**not measured**"
    with pytest.raises(ValueError, match="needs a reason"):
        judged("It rains", "nowhere", "", NOT_MEASURED, "")
    unknown = judged("It rains", "nowhere", "", [None], "")
    assert unknown is not None
    assert "too few repeats" in unknown.why
    with pytest.raises(ValueError, match="at least one condition"):
        judge([])


def test_a_test_of_too_few_repeats_judges_nothing() -> None:
    assert Compared.never(Comparison(-1.0, 1.0, 2), -1) is None
    assert Compared.never(Comparison(-1.0, 0.01, 5), -1) == Compared(False, -1, by_mean=False)
    assert Compared.lower(Comparison(-1.0, 0.01, 5)) == Compared(True, 1)
    assert Compared.higher(Comparison(-1.0, 0.01, 5)) == Compared(False, -1)


def test_the_page_counts_its_verdicts(chapters: Sequence[Chapter]) -> None:
    claims = [claim for chapter in chapters for claim in chapter.section.claims]
    [line] = [row for row in claims_page(chapters).splitlines() if row.startswith("| all |")]
    counts = [int(cell) for cell in line.split("|")[2:-1]]
    assert counts[0] == len(claims) == sum(counts[1:])
    assert counts[1:] == [sum(c.verdict is v for c in claims) for v in Verdict]


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
