"""MLflow: a model is saved with skops, if the types that it may hold are named."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

mlflow = pytest.importorskip("mlflow", "2.16")
DISTRIBUTION = "mlflow"


def test_models_are_saved_and_logged(patients, numbers, found, tmp_path, monkeypatch):
    import skops.io

    monkeypatch.chdir(tmp_path)
    X, y = patients
    model = TwoStageRegressor().fit(X, y)
    types = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    mlflow.sklearn.save_model(
        model, tmp_path / "m", serialization_format="skops", skops_trusted_types=types
    )
    restored = mlflow.sklearn.load_model(str(tmp_path / "m"))
    gap = np.abs(restored.predict(X) - model.predict(X)).max()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    logged = []
    for one in (TwoStageRegressor(), RidgeCV()):
        mlflow.sklearn.autolog(log_models=False, silent=True)
        one.fit(*numbers)
        mlflow.sklearn.autolog(disable=True)
        logged.append(len(mlflow.search_runs()))
    found(
        f"a loaded model differs by {gap:.0e}",
        f"autolog records {logged[0]} runs, linear {logged[1]}",
    )
    assert gap == 0
