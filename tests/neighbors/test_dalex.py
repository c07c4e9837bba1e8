"""dalex: columns that a model of a data frame needs."""

import dalex


def test_parts_of_a_model(patients, frame_models, found):
    X, y = patients
    first = []
    for model in frame_models:
        explainer = dalex.Explainer(model.fit(X, y), X, y, verbose=False)
        parts = explainer.model_parts(B=2, random_state=0, N=None).result
        first.append([one for one in parts["variable"] if not one.startswith("_")][-2:])
    found(f"most needed: {', '.join(first[0])}; linear {', '.join(first[1])}")
    assert set(first[0]) == {"bmi", "s5"}
