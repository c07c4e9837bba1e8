"""Views of tables: quantiles of many columns, and of columns with equal values."""

import numpy as np

from mercer._estimators.stacking.table_views import TableViews, _counted, _interpolated


def test_many_columns_have_the_same_quantiles_as_few() -> None:
    rng = np.random.default_rng(0)
    knots = np.sort(rng.integers(0, 8, (12, 200)) / 4.0, axis=0)  # Some knots are equal.
    references = np.linspace(0.0, 1.0, 12)
    x = np.vstack([rng.normal(1.0, 1.0, (9, 200)), knots[5], np.full(200, np.nan)])
    np.testing.assert_allclose(
        _counted(x, knots, references), _interpolated(x, knots, references), atol=1e-14
    )
    table = rng.normal(size=(20, 400))
    wide, narrow = TableViews(table), TableViews(table[:, :30])
    new = rng.normal(size=(5, 400))
    np.testing.assert_allclose(
        wide.transform(new, "quantiles")[:, :30],
        narrow.transform(new[:, :30], "quantiles"),
        atol=1e-12,
    )


def test_quantiles_are_those_of_scikit_learn_if_values_are_equal() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=400), rng.poisson(3.0, 400), rng.normal(size=400).round(1)]
    )
    views = TableViews(X)
    assert views._quantiles is not None
    scaled = views.transform(np.vstack([X, X[:200] + 0.05]), "scaled")
    expected = views._quantiles.transform(scaled[:, views._many])
    most = views.largest_quantile
    np.testing.assert_allclose(
        views._clipped_quantiles(scaled), np.clip(expected, -most, most), atol=1e-12
    )
