"""The column of the table behind each encoded one: changing a column changes these alone."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from mercer.preprocessing import table_encoder
from mercer.preprocessing._encoded_columns import encoded_columns

RNG = np.random.default_rng(0)
N = 60
NUMBERS = RNG.normal(size=(N, 3))
CODES = RNG.integers(0, 4, size=(N, 2)).astype(float)


def check(transformer: Any, X: Any) -> None:
    """Exchanging the values of one column between rows changes the columns it is behind, only."""
    found = encoded_columns(transformer, X.shape[1])
    before = transformer.transform(X)
    assert len(found) == before.shape[1]
    for column in range(X.shape[1]):
        mixed = X.copy()
        if hasattr(X, "iloc"):
            mixed[X.columns[column]] = X.iloc[::-1, column].array
        else:
            mixed[:, column] = X[::-1, column]
        changed = (transformer.transform(mixed) != before).any(axis=0)
        assert not changed[found != column].any()
        constant = np.ptp(before, axis=0) == 0.0
        assert changed[(found == column) & ~constant].all()


@pytest.mark.parametrize(
    "transformer",
    [
        StandardScaler(),
        make_pipeline(MinMaxScaler(), QuantileTransformer(n_quantiles=20)),
        make_union(StandardScaler(), SelectKBest(k=1)),
        SelectKBest(k=2),
        FunctionTransformer(np.tanh, feature_names_out="one-to-one"),
        make_column_transformer((StandardScaler(), [2]), ("drop", [0]), remainder="passthrough"),
    ],
    ids=repr,
)
def test_numbers(transformer: Any) -> None:
    check(transformer.fit(NUMBERS, NUMBERS[:, 1] > 0.0), NUMBERS)


@pytest.mark.parametrize(
    "options",
    [{}, {"drop": "first"}, {"drop": "if_binary"}, {"max_categories": 3}, {"min_frequency": 14}],
    ids=repr,
)
def test_categories(options: Any) -> None:
    codes = np.column_stack([CODES, CODES[:, 0] > 1.0])
    check(OneHotEncoder(sparse_output=False, **options).fit(codes), codes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_means_of_the_target(n_classes: int) -> None:
    labels = (CODES[:, 0] + CODES[:, 1] + RNG.integers(0, 2, N)) % n_classes
    check(TargetEncoder(random_state=0).fit(CODES, labels), CODES)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("keep", [False, True])
def test_missing_values(keep: bool) -> None:
    X = np.where(NUMBERS > 1.0, np.nan, NUMBERS)
    X[:, 1] = np.nan
    imputer = SimpleImputer(add_indicator=True, keep_empty_features=keep)
    check(imputer.fit(X), X)


def test_tables_of_mixed_types() -> None:
    words = np.array(["red car", "blue boat", "green bike with wheels", "old red bike"])
    frame = pd.DataFrame(
        {
            "text": [f"{words[i % 4]} {i}" for i in range(N)],
            "number": np.where(NUMBERS[:, 0] > 1.0, np.nan, NUMBERS[:, 0]),
            "date": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "h"),
            "number_b": NUMBERS[:, 1],
            "code": np.where(CODES[:, 0] > 1.0, "a", "b"),
            "constant": "same",
        }
    )
    encoder = table_encoder().fit(frame)
    check(encoder, frame)
    assert set(encoded_columns(encoder, 6)) == set(range(6))


@pytest.mark.parametrize(
    "transformer", [PCA(2), FunctionTransformer(np.cumsum)], ids=["components", "sums"]
)
def test_transformers_of_several_columns_are_refused(transformer: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), transformer).fit(NUMBERS)
    with pytest.raises(TypeError, match="is not known to handle each column by itself"):
        encoded_columns(pipeline, 3)
