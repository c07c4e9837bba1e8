"""What notebooks show of every estimator and transformer, unfitted and fitted."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import make_pipeline

import mercer
from mercer import preprocessing
from mercer.preprocessing import column_encoder, column_encoders, table_encoder

pytestmark = pytest.mark.usefixtures("few_folds")
pd = pytest.importorskip("pandas")

N = 24
ESTIMATORS = {
    name: kind
    for name in mercer.__all__
    if isinstance(kind := getattr(mercer, name), type) and issubclass(kind, BaseEstimator)
}


def tables() -> dict[str, Any]:
    """Numbers as a frame and as an array, and a frame of mixed types."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    mixed = numbers.assign(color=rng.choice(["red", "green"], N))
    mixed["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), unit="D")
    mixed["note"] = [f"row with {word} words" for word in rng.permutation(N).astype(str)]
    mixed.loc[2, "a"] = np.nan
    return {"numbers": numbers, "array": numbers.to_numpy(), "mixed": mixed}


COUNTS = np.random.default_rng(1).poisson(2.0, N)
"""Every regressor takes them; classifiers are asked whether they are above one."""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name: str) -> None:
    estimator, table = ESTIMATORS[name](), tables()
    y = COUNTS > 1 if is_classifier(estimator) else COUNTS
    assert name in estimator._repr_html_()
    assert name in make_pipeline(table_encoder(), estimator)._repr_html_()
    pipeline = make_pipeline(table_encoder(), estimator).fit(table["numbers"], y)
    assert name in pipeline._repr_html_()
    assert name in pipeline[-1]._repr_html_()


KINDS = ["numbers", "dates", "calendar", "categories", "text"]
TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "table_encoder": table_encoder,
    "column_encoder": lambda: column_encoder(tables()["mixed"]),
    "SoftClippingScaler": preprocessing.SoftClippingScaler,
    **{f"column_encoders, {kind}": partial(column_encoders().get, kind) for kind in KINDS},
    "LetterCodes": preprocessing.LetterCodes,
    "TextScores": preprocessing.TextScores,
}
COLUMNS = {
    "column_encoders, dates": ["day"],
    "column_encoders, calendar": ["day"],
    "column_encoders, categories": ["color"],
    "column_encoders, text": ["note"],
    "LetterCodes": ["color"],
    "TextScores": ["note"],
}


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("kind", ["numbers", "array", "mixed"])
def test_transformers(name: str, kind: str) -> None:
    transformer, table = TRANSFORMERS[name](), tables()[kind]
    if name in COLUMNS:
        table = tables()["mixed"][COLUMNS[name]]
        table = table.to_numpy() if kind == "array" else table
    elif kind == "mixed" and name in ("SoftClippingScaler", "column_encoders, numbers"):
        table = table[["a", "b"]]
    elif name == "column_encoder":
        transformer = column_encoder(table)
    for shown in (transformer, make_pipeline(transformer)):
        assert type(transformer).__name__ in shown._repr_html_()
        assert "fitted" in shown.fit(table, COUNTS)._repr_html_()
