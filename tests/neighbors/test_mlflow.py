"""MLflow: a model is saved with skops, if the types that it may hold are named."""

import mlflow
import numpy as np
import skops.io


def test_models_are_saved(patients, models, found, tmp_path):
    X, y = patients
    model = models[0].fit(X, y)
    types = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    settings = {"serialization_format": "skops", "skops_trusted_types": types}
    mlflow.sklearn.save_model(model, tmp_path / "m", **settings)
    restored = mlflow.sklearn.load_model(str(tmp_path / "m"))
    gap = np.abs(restored.predict(X) - model.predict(X)).max()
    found(f"a loaded model differs by {gap:.0e}")
    assert gap == 0


def test_fits_are_logged(numbers, models, found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    logged = []
    for model in models:
        mlflow.sklearn.autolog(log_models=False, silent=True)
        model.fit(*numbers)
        mlflow.sklearn.autolog(disable=True)
        logged.append(len(mlflow.search_runs()))
    found("autolog records {} runs, linear {}".format(*logged))
