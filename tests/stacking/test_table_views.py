"""Views of tables of many columns equal those of few."""

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
