"""Text is scored by ridge regression on its words and letter sequences, out of fold."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, PredefinedSplit, TimeSeriesSplit

from mercer.preprocessing import TextScores
from mercer.preprocessing._encoded_columns import encoded_columns

FILLERS = ["north", "south", "river", "bridge", "market", "garden", "tower", "street"]


def texts(n: int, seed: int, told: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Sentences, and a class that one of their words tells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    words = np.where(y == 1, "excellent", "terrible") if told else np.full(n, "usual")
    return np.array([[f"{w} {' '.join(rng.choice(FILLERS, 6))}"] for w in words]), y


def test_new_rows_are_scored_as_left_out_rows_are() -> None:
    X, y = texts(120, 0)
    new, truth = texts(80, 1)
    encoder = TextScores(classification=True)
    for scores, labels in ((encoder.fit_transform(X, y), y), (encoder.transform(new), truth)):
        assert scores.shape == (len(labels), 2)
        assert np.corrcoef(scores[:, 0], labels)[0, 1] > 0.9
        assert np.mean((scores[:, 0] > 0.0) == labels) > 0.95
    assert encoder.get_feature_names_out(["said"]).tolist() == ["said_words", "said_letters"]
    assert_array_equal(encoded_columns(encoder, 1), [0, 0])


def test_noise_does_not_score() -> None:
    """In-sample predictions would be close to the labels."""
    X, y = texts(150, 0, told=False)
    encoder = TextScores(classification=True)
    left_out = encoder.fit_transform(X, y)
    assert abs(np.corrcoef(left_out[:, 0], y)[0, 1]) < 0.25
    assert np.corrcoef(encoder.transform(X)[:, 0], y)[0, 1] > 0.4


def test_noise_of_groups_does_not_score_if_whole_groups_are_left_out() -> None:
    """Labels are constant within groups, which a word tells."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    y = rng.integers(0, 2, 40)[groups]
    X = np.array([[f"patient{g} {' '.join(rng.choice(FILLERS, 4))}"] for g in groups])
    by_row = TextScores(classification=True).fit_transform(X, y)[:, 0]
    folds = PredefinedSplit(groups % 5)
    by_group = TextScores(classification=True, cv=folds).fit_transform(X, y)[:, 0]
    assert np.corrcoef(by_row, y)[0, 1] > 0.9
    assert abs(np.corrcoef(by_group, y)[0, 1]) < 0.3


def test_rows_that_are_never_held_out_have_the_mean() -> None:
    X, y = texts(120, 0)
    scores = TextScores(classification=True, cv=TimeSeriesSplit(3)).fit_transform(X, y)
    assert_array_equal(scores[:30], np.zeros((30, 2)))
    assert np.corrcoef(scores[30:, 0], y[30:])[0, 1] > 0.9


def test_scores_are_those_of_ridge_regression_out_of_fold() -> None:
    X, y = texts(60, 3)
    response = y + 0.1 * np.random.default_rng(0).normal(size=60)
    z = (response - response.mean()) / response.std()
    counts = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b"
    ).fit_transform(X[:, 0])
    tried = []
    for alpha in (0.1, 0.3, 1.0, 3.0):
        found = np.empty(60)
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            found[test] = Ridge(alpha).fit(counts[train], z[train]).predict(counts[test])
        tried.append(found)
    expected = min(tried, key=lambda found: float(np.mean((found - z) ** 2)))
    assert_allclose(TextScores().fit_transform(X, response)[:, 0], expected, atol=0.02)


def test_each_of_several_classes_has_scores() -> None:
    X, y = texts(90, 0)
    both = np.column_stack([X[:, 0], X[::-1, 0]])
    labels = np.array(["a", "b", "c"])[y + np.arange(90) % 2]
    encoder = TextScores(classification=True).fit(both, labels)
    assert encoder.transform(both).shape == (90, 12)
    names = encoder.get_feature_names_out()
    assert (len(names), names[2]) == (12, "x0_words_2")
    assert_array_equal(encoded_columns(encoder, 2), np.repeat([0, 1], 6))


def test_missing_and_empty_text() -> None:
    X, y = texts(40, 0)
    X = X.astype(object)
    X[::7] = None
    encoder = TextScores(classification=True).fit(X, y)
    assert np.isfinite(encoder.transform(X)).all()
    empty = np.full((40, 1), "", dtype=object)
    assert_array_equal(TextScores(classification=True).fit_transform(empty, y), np.zeros((40, 2)))
    assert_allclose(TextScores(classification=True).fit(empty, y).transform(empty), 0.0)
