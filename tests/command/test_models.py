"""Saved models, and files that are not loaded."""

from pathlib import Path
from typing import Any

import pytest
from command_cases import Run, error_line
from model_file_cases import saved_and_loaded, write_unchecked
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mercer import KernelStackingClassifier, TwoStageClassifier
from mercer_command.files import save_model


class _Untrusted(DecisionTreeClassifier):
    """An estimator of a type that skops does not know."""


def test_untrusted_types_are_named(run: Run, model: str) -> None:
    for step in (_Untrusted(), PCA()):
        untrusted, path = Pipeline([("model", step)]), Path("untrusted.skops")
        with pytest.raises(ValueError, match=type(step).__name__):
            save_model(untrusted, path)
        assert not path.exists()
        write_unchecked(untrusted, path)
        line = error_line("predict", path, "table.csv", "--out", "p.csv")
        assert "holds types that are not trusted" in line
        assert type(step).__name__ in line
        path.unlink()


@pytest.mark.parametrize(
    ("estimator", "sparse"),
    [
        (KernelStackingClassifier(), False),
        (TwoStageClassifier(), True),
        (KernelStackingClassifier(approximation="nystroem", n_components=20), True),
        (TwoStageClassifier(approximation="nystroem", n_components=20), False),
    ],
)
def test_estimators_with_their_defaults_are_trusted(estimator: Any, sparse: bool) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    model = Pipeline([("model", estimator)]).fit(csr_matrix(X) if sparse else X, y)
    assert_array_equal(saved_and_loaded(model).predict(X), model.predict(X))


def test_files_that_are_no_models(run: Run, model: str) -> None:
    save_model(Pipeline([("model", StandardScaler())]), Path("other.skops"))
    Path("broken.skops").write_bytes(Path("m.skops").read_bytes()[:-200])
    line = error_line("predict none.skops table.csv --out p.csv")
    assert "there is no model file none.skops" in line
    for name in ("table.csv", "other.skops", "broken.skops"):
        line = error_line("predict", name, "table.csv", "--out", "p.csv")
        assert "not a model of mercer fit" in line
