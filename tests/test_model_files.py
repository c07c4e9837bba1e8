"""Models on disk: what is loaded is what was saved, and everything else is refused."""

import os
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from model_file_cases import refusal, with_schema, write_unchecked
from numpy.testing import assert_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

import mercer
from mercer import KernelStackingRegressor, TwoStageClassifier
from mercer._files import model_archives, model_files
from mercer.datasets import make_sine

X, Y = make_sine(40, random_state=0)


def as_array_of_objects(models: list[Any]) -> Any:
    """An array that holds models, as scikit-learn keeps the trees of ensembles."""
    array = np.empty(len(models), dtype=object)
    array[:] = models
    return array


class TestOtherVersions:
    def test_a_model_of_another_version_is_loaded_with_a_warning(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(mercer, "__version__", "99.1")
            mercer.save(TwoStageClassifier(C=1.0).fit(X, Y), changed)
            assert isinstance(mercer.load(changed), TwoStageClassifier)
        found = rf"saved by mercer 99\.1, this is mercer {mercer.__version__}"
        with pytest.warns(UserWarning, match=found):
            model = mercer.load(changed)
        np.testing.assert_array_equal(model.predict(X), mercer.load(saved).predict(X))

    def test_files_of_the_first_format_are_refused(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        changed.write_bytes(saved.read_bytes())
        with ZipFile(changed, "a") as archive:
            archive.comment = b""
        with monkeypatch.context() as patch:
            first = model_files._LABEL.replace(b"version 2", b"version 1")
            patch.setattr(model_files, "_LABEL", first)
            patch.setattr(model_files, "_made_by", lambda: "mercer 0.2.0")
            model_files.add_checksum(changed)
        assert "mercer 0.2.0 saved it; load it with that version, or fit" in refusal(changed)

    def test_a_failure_names_both_versions(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def rename(schema: Any) -> None:
            schema["__class__"] = "OfTheFuture"

        monkeypatch.setattr(mercer, "__version__", "99.1")
        with_schema(saved, changed, rename)
        monkeypatch.undo()
        with pytest.raises(ValueError, match=r"not loaded: .*OfTheFuture.*\(saved by mercer 99\.1"):
            mercer.load(changed)

    @pytest.mark.parametrize(
        "comment", ["", "; ", "mercer ", "mercer1.0", "mercer é", "other 1.0", f"mercer {'1' * 50}"]
    )
    def test_files_without_a_version_are_refused(
        self, saved: Path, changed: Path, monkeypatch: pytest.MonkeyPatch, comment: str
    ) -> None:
        changed.write_bytes(saved.read_bytes())
        with ZipFile(changed, "a") as archive:
            archive.comment = b""
        with monkeypatch.context() as patch:
            patch.setattr(model_files, "_made_by", lambda: comment)
            model_files.add_checksum(changed)
        assert "does not say which version of mercer saved it" in refusal(changed)


class TestWholeFiles:
    def test_a_model_predicts_as_before(self, saved: Path) -> None:
        expected = TwoStageClassifier(C=1.0).fit(X, Y).decision_function(X)
        np.testing.assert_array_equal(mercer.load(saved).decision_function(X), expected)
        np.testing.assert_array_equal(mercer.load(str(saved)).decision_function(X), expected)

    def test_the_file_is_one_of_skops(self, saved: Path) -> None:
        from skops.io import get_untrusted_types, load

        model = load(saved, trusted=get_untrusted_types(file=saved))
        np.testing.assert_array_equal(model.predict(X), mercer.load(saved).predict(X))

    def test_every_changed_byte_is_noticed(self, saved: Path, changed: Path) -> None:
        data, rng = bytearray(saved.read_bytes()), np.random.default_rng(0)
        positions = {0, len(data) - 1, *range(len(data) - 200, len(data))}
        for position in positions | set(rng.integers(len(data), size=60).tolist()):
            data[position] ^= 1
            changed.write_bytes(data)
            assert "checksum" in refusal(changed)
            data[position] ^= 1

    def test_missing_and_added_bytes_are_noticed(self, saved: Path, changed: Path) -> None:
        data = saved.read_bytes()
        for other in (data[:-1], data + b"\0", b""):
            changed.write_bytes(other)
            assert "checksum" in refusal(changed)

    def test_files_of_skops_alone_are_refused(self, changed: Path) -> None:
        from skops.io import dump

        dump(TwoStageClassifier(C=1.0).fit(X, Y), changed)
        told = refusal(changed)
        assert "does not end with the checksum of a saved model" in told
        assert "load it with skops.io.load, and save the model with mercer.save" in told

    def test_missing_files_and_folders_are_errors_of_the_system(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            mercer.load(tmp_path / "none.skops")
        with pytest.raises(IsADirectoryError):
            mercer.load(tmp_path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
    def test_a_pipe_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="is a pipe or a device, not a file"):
            mercer.load(tmp_path / "pipe")

    def test_a_model_beyond_memory_is_refused(
        self, saved: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While a model is loaded, memory holds the file's bytes and its arrays."""
        n_bytes = saved.stat().st_size
        monkeypatch.setattr(model_archives, "available_memory", lambda: 1.9 * n_bytes)
        with pytest.raises(MemoryError, match="takes more memory than there is"):
            mercer.load(saved)
        monkeypatch.setattr(model_archives, "available_memory", lambda: 2.1 * n_bytes)
        mercer.load(saved)

    def test_a_changed_byte_of_a_long_file_is_noticed(self, changed: Path) -> None:
        mercer.save([np.arange(10**6)], changed)
        data = bytearray(changed.read_bytes())
        data[7 * 10**6] ^= 1
        changed.write_bytes(data)
        assert "checksum" in refusal(changed)


class TestIndices:
    @pytest.mark.parametrize(
        ("name", "bad"),
        [
            ("support_", lambda model: np.append(model.support_[:-1], len(X))),
            ("support_", lambda model: model.support_ + 10**6),
            ("_n_support", lambda model: np.array([-1, len(model.support_) + 1])),
            ("_n_support", lambda model: model._n_support + 10**6),
            ("_dual_coef_", lambda model: model._dual_coef_[:, :0]),
            ("_intercept_", lambda model: model._intercept_[:0]),
            ("_probA", lambda model: np.zeros(2)),
            ("_probB", lambda model: np.zeros(2)),
            ("support_vectors_", lambda model: model.support_vectors_[:-1]),
        ],
    )
    def test_support_vector_machines_are_consistent_wherever_they_are(
        self, changed: Path, name: str, bad: Any
    ) -> None:
        for contained in (tuple, lambda models: {"machine": models[0]}, as_array_of_objects):
            model = SVC(kernel="linear").fit(X, Y)
            mercer.save(contained([model]), changed)
            mercer.load(changed)
            setattr(model, name, np.asarray(bad(model), dtype=getattr(model, name).dtype))
            write_unchecked(contained([model]), changed)
            assert "support vector machine" in refusal(changed)

    def test_precomputed_machines_are_consistent(self, changed: Path) -> None:
        model = SVC(kernel="precomputed").fit(X @ X.T, Y)
        mercer.save(model, changed)
        mercer.load(changed)
        model.support_ = model.support_ + 10**6
        with pytest.raises(ValueError, match="support vector machine"):
            mercer.save(model, changed)
        write_unchecked(model, changed)
        assert "support vector machine" in refusal(changed)

    @pytest.mark.parametrize("name", ["forest", "boosting"])
    def test_trees_are_saved_as_arrays(self, changed: Path, name: Any) -> None:
        y = np.digitize(X[:, 0], [0.0, 0.5])
        model = mercer.ForestKernel(name, n_trees=5, min_samples_leaf=5).fit(X, y)
        mercer.save(model, changed)
        loaded = mercer.load(changed)
        np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
        assert loaded.kernel_ == model.kernel_
        trees = loaded.kernels_[0].ensemble
        for bad in (trees.starts[-1] + 1, 0):
            trees.children[trees.children >= 0] = bad
            mercer.save(loaded, changed)
            with np.errstate(all="raise"):
                ended = mercer.load(changed)
                if bad:
                    with pytest.raises(IndexError):
                        ended.transform(X)
                else:
                    assert np.isfinite(ended.transform(X)).all()
        trees.feature[:] = X.shape[1]
        mercer.save(loaded, changed)
        with pytest.raises(IndexError, match="more features"):
            mercer.load(changed).transform(X)

    def test_indices_of_sparse_arrays_are_in_range(self, changed: Path) -> None:
        array = csr_matrix(np.abs(X))
        mercer.save([array], changed)
        mercer.load(changed)
        array.indices[0] = 10**6
        write_unchecked([array], changed)
        assert "must be < 1" in refusal(changed)

    @pytest.mark.parametrize(
        "options", [{}, {"drop": "first"}, {"min_frequency": 2}, {"drop": "if_binary"}]
    )
    @pytest.mark.parametrize("table", [[["a"], ["b"], ["b"], ["c"]], [[1.0], [2.0], [2.0], [5.0]]])
    def test_columns_of_encoders_are_those_of_their_categories(
        self, changed: Path, options: Any, table: Any
    ) -> None:
        model = OneHotEncoder(**options).fit(np.array(table))
        mercer.save(model, changed)
        found = mercer.load(changed).transform(np.array(table))
        np.testing.assert_array_equal(found.toarray(), model.transform(np.array(table)).toarray())
        model._n_features_outs = [1]
        write_unchecked(model, changed)
        assert "not those of its categories" in refusal(changed)

    def test_categories_are_sorted(self, changed: Path) -> None:
        model = OneHotEncoder().fit(np.array([[1.0], [2.0]]))
        mercer.save(model, changed)
        model.categories_ = [np.array([2.0, 1.0])]
        write_unchecked(model, changed)
        assert "not those of its categories" in refusal(changed)

    def test_vectorizers_number_their_words_and_read_no_files(self, changed: Path) -> None:
        model = TfidfVectorizer().fit(["some words", "more words"])
        mercer.save(model, changed)
        write_unchecked(clone(model).set_params(input="filename"), changed)
        assert "reads files" in refusal(changed)
        model.vocabulary_["words"] = 10**6
        write_unchecked(model, changed)
        assert "does not number its words" in refusal(changed)


@pytest.mark.parametrize("approximation", ["exact", "nystroem"])
def test_left_out_predictions_of_later_rows_alone_are_saved(
    tmp_path: Path, approximation: str
) -> None:
    """The earliest rows are held out of no fold, and have no left-out predictions."""
    X, y = make_sine(n_samples=120, random_state=0)
    model = KernelStackingRegressor(cv=TimeSeriesSplit(4), approximation=approximation).fit(X, y)
    assert np.isnan(model.loo_predictions_).any()
    interval = model.predict_interval(X[:3])
    mercer.save(model, tmp_path / "model.skops")
    loaded = mercer.load(tmp_path / "model.skops")
    assert np.array_equal(loaded.loo_predictions_, model.loo_predictions_, equal_nan=True)
    assert np.array_equal(loaded.predict_interval(X[:3]), interval)


@pytest.mark.parametrize(
    "cv",
    [
        *(GroupKFold(4), StratifiedGroupKFold(3), LeaveOneGroupOut(), LeaveOneOut()),
        *(
            RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
            RepeatedStratifiedKFold(random_state=0),
        ),
        *(ShuffleSplit(3, random_state=0), GroupShuffleSplit(2, random_state=0)),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_models_are_saved_with_their_splitters(tmp_path: Path, cv: Any) -> None:
    model = TwoStageClassifier().fit(X, Y > 0.0).set_params(cv=cv)
    mercer.save(model, tmp_path / "model.skops")
    loaded = mercer.load(tmp_path / "model.skops")
    groups = np.arange(len(X)) // 5 if "Group" in type(cv).__name__ else None
    held_out = [[test for _, test in m.cv.split(X, Y > 0.0, groups)] for m in (model, loaded)]
    assert len(held_out[0]) > 1
    assert_equal(*held_out)
