"""The methods that the experiment `tables` compares: all with their defaults, on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from scipy.stats import norm
from sklearn import ensemble
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.c_search import MAX_ITER, Task, error
from experiments.experiment import Measures, Method, Unavailable
from experiments.problems import Array
from experiments.tabular.table_files import TableSplit
from experiments.tabular.torch_methods import REALMLP, XRFM, TorchMethod
from mercer.preprocessing import table_encoder

# The number of bins of confidence in the calibration error (Guo et al. 2017, section 2).
N_BINS = 15


def log_loss(labels: Array, probabilities: Array) -> float:
    """Return the mean negative logarithm of the probability of the true class.

    Probabilities are clipped at the spacing of floating-point numbers, as scikit-learn does; the
    probability of a class without a column, one that no training row has, is that spacing.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Class codes 0, 1, ...
    probabilities : ndarray of shape (n_rows, n_classes)
    """
    floor = float(np.finfo(np.float64).eps)
    known = labels < probabilities.shape[1]
    rows = np.arange(len(labels))
    given = np.where(known, probabilities[rows, np.where(known, labels, 0)], 0.0)
    return float(-np.log(np.clip(given, floor, 1.0)).mean())


def calibration_error(labels: Array, probabilities: Array, *, equal_mass: bool = False) -> float:
    """Return the expected calibration error of the most probable class, in `N_BINS` bins.

    This is sum_b n_b/n |accuracy_b - confidence_b| (Guo et al. 2017, equation 3).

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
    probabilities : ndarray of shape (n_rows, n_classes)
    equal_mass : bool, default=False
        Whether bins end at quantiles of the confidence, so that rows of equal confidence share a
        bin, in place of equal widths. Such bins have less bias (Roelofs, Cain, Shlens & Mozer 2022,
        Mitigating bias in calibration error estimation, AISTATS).
    """
    confidence = probabilities.max(axis=1)
    excess = (probabilities.argmax(axis=1) == labels) - confidence
    inner = np.arange(1, N_BINS) / N_BINS
    bins = np.searchsorted(np.quantile(confidence, inner) if equal_mass else inner, confidence)
    return float(np.abs(np.bincount(bins, excess, minlength=N_BINS)).sum() / len(labels))


def of_probabilities(labels: Array, probabilities: Array) -> Measures:
    """Return log-loss and calibration error."""
    return {
        "log_loss": log_loss(labels, probabilities),
        "calibration_error": calibration_error(labels, probabilities),
    }


def of_intervals(y: Array, low: Array, high: Array, scale: float) -> Measures:
    """Return the coverage of intervals, and their mean width in units of the scale."""
    return {
        "coverage": float(np.mean((low <= y) & (y <= high))),
        "width": float(np.mean(high - low)) / scale,
    }


# The coverage that intervals aim at.
COVERAGE = 0.9

# The ten widths of the grid, as gamma in units of scikit-learn's gamma="scale".
GAMMAS = 4.0 ** np.arange(-5, 5)
# The eleven values of C, and of 1 / alpha.
C_GRID = 2.0 ** np.arange(-5, 16, 2)

# L-BFGS steps of a Gaussian process at most; without a bound it takes minutes.
MAX_GP_ITER = 50

# A function from a split and its training inputs to an estimator.
Make = Callable[[TableSplit, Array], Any]


@dataclass(frozen=True)
class Inputs:
    """Training and test inputs, and the processor seconds of their encoding."""

    train: Any
    test: Any
    seconds: float


def encoded(split: TableSplit) -> Inputs:
    """Return the inputs that `mercer.preprocessing.table_encoder` makes of the columns."""
    start = time.process_time()
    encoder = table_encoder()
    train = np.asarray(encoder.fit_transform(split.X_train), dtype=np.float64)
    duration = time.process_time() - start
    return Inputs(train, np.asarray(encoder.transform(split.X_test), dtype=np.float64), duration)


def native(split: TableSplit) -> Inputs:
    """Return the columns as they are, with names that every library takes."""
    names = [f"x{number}" for number in range(split.X_train.shape[1])]
    train, test = (X.set_axis(names, axis=1) for X in (split.X_train, split.X_test))
    return Inputs(train, test, 0.0)


def strings(split: TableSplit) -> Inputs:
    """Return the columns as they are, with strings for categories, missing ones too."""
    given = native(split)
    names = list(given.train.select_dtypes("category").columns)

    def replaced(X: Any) -> Any:
        columns = {name: X[name].astype(object).fillna("missing").astype(str) for name in names}
        return X.assign(**columns)

    return Inputs(replaced(given.train), replaced(given.test), 0.0)


def of_estimator(
    split: TableSplit, *, make: Make, inputs: Callable[[TableSplit], Inputs] = encoded
) -> Measures:
    """Fit an estimator and measure it; seconds are of the processor, so that load matters less."""
    given = inputs(split)
    model = make(split, given.train)
    start = time.process_time()
    model.fit(given.train, split.y_train)
    fitted = time.process_time()
    predicted = model.predict(given.test)
    ended = time.process_time()
    return {
        **of_predictions(split, predicted),
        **uncertainty(split, model, given.test),
        "fit_seconds": given.seconds + fitted - start,
        "predict_seconds": ended - fitted,
    }


def of_predictions(split: TableSplit, predicted: Array) -> Measures:
    """Return the error on test rows, and the numbers of rows and features."""
    found = error(split.task, split.y_test, np.asarray(predicted).ravel()) / split.scale
    return {"error": found, "n_train": len(split.y_train), "n_test": len(split.y_test)}


def uncertainty(split: TableSplit, model: Any, X: Any) -> Measures:
    """Return the measures of probabilities or intervals, as far as the estimator gives them."""
    if split.task == "classification":
        if isinstance(model, GridSearchCV) or not hasattr(model, "predict_proba"):
            return {}
        return of_probabilities(split.y_test, model.predict_proba(X))
    if hasattr(model, "predict_interval"):
        found = model.predict_interval(X, coverage=COVERAGE)
        low, high = found if isinstance(found, tuple) else found.T
    elif isinstance(model, GaussianProcessRegressor):
        mean, deviation = model.predict(X, return_std=True)
        reach = norm.ppf(0.5 + COVERAGE / 2.0) * deviation
        low, high = mean - reach, mean + reach
    else:
        return {}
    return of_intervals(split.y_test, low, high, split.scale)


def grid_search(split: TableSplit, X: Array) -> Any:
    """Return a search for width and C, or alpha, by five shuffled folds."""
    gammas = GAMMAS / (X.shape[1] * X.var())
    if split.task == "classification":
        folds: Any = StratifiedKFold(5, shuffle=True, random_state=0)
        return GridSearchCV(SVC(max_iter=MAX_ITER), {"gamma": gammas, "C": C_GRID}, cv=folds)
    folds = KFold(5, shuffle=True, random_state=0)
    grid = {"gamma": gammas, "alpha": 1.0 / C_GRID}
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=folds)
    return TransformedTargetRegressor(search, transformer=StandardScaler())


def forest(split: TableSplit, _: Any) -> Any:
    """Return a forest of 500 trees."""
    kind = of_task(split.task, ensemble.RandomForestClassifier, ensemble.RandomForestRegressor)
    return kind(500, random_state=0)


def histogram_boosting(split: TableSplit, _: Any) -> Any:
    """Return scikit-learn's histogram gradient boosting."""
    kind = of_task(
        split.task, ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor
    )
    return kind(random_state=0)


def light_gbm(split: TableSplit, _: Any) -> Any:
    """Return LightGBM's estimator."""
    library = package("lightgbm")
    kind = of_task(split.task, library.LGBMClassifier, library.LGBMRegressor)
    return kind(random_state=0, n_jobs=1, verbose=-1)


def xgboost(split: TableSplit, _: Any) -> Any:
    """Return XGBoost's estimator."""
    library = package("xgboost")
    kind = of_task(split.task, library.XGBClassifier, library.XGBRegressor)
    return kind(random_state=0, n_jobs=1, enable_categorical=True)


def catboost(split: TableSplit, X: Any) -> Any:
    """Return CatBoost's estimator; columns that hold no numbers are its categories."""
    library = package("catboost")
    kind = of_task(split.task, library.CatBoostClassifier, library.CatBoostRegressor)
    categories = list(X.select_dtypes(exclude="number").columns)
    settings = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
    return kind(random_seed=0, cat_features=categories, **settings)


def boosting_machine(split: TableSplit, _: Any) -> Any:
    """Return the explainable boosting machine of `interpret`."""
    library = package("interpret.glassbox")
    kind = of_task(
        split.task, library.ExplainableBoostingClassifier, library.ExplainableBoostingRegressor
    )
    return kind(random_state=0, n_jobs=1)


def gaussian_process(split: TableSplit, X: Array) -> Any:
    """Return a Gaussian process with one width a feature, by marginal likelihood.

    The search starts from the square root of the number of features, about the distance of two
    standardized rows; from 1, the default, it does not leave the start where features are many.
    """
    n_features = X.shape[1]
    kernel = ConstantKernel() * RBF(np.full(n_features, n_features**0.5))
    if split.task == "classification":
        return GaussianProcessClassifier(kernel, optimizer=few_steps, random_state=0)
    return GaussianProcessRegressor(
        kernel + WhiteKernel(), normalize_y=True, optimizer=few_steps, random_state=0
    )


def few_steps(objective: Any, start: Array, bounds: Any) -> tuple[Array, float]:
    """Minimize by at most `MAX_GP_ITER` steps of L-BFGS."""
    found = fmin_l_bfgs_b(objective, start, bounds=bounds, maxiter=MAX_GP_ITER)
    return found[0], float(found[1])


def two_stage(split: TableSplit, _: Any) -> Any:
    """Return mercer's two-stage estimator."""
    mercer = import_module("mercer")
    return of_task(split.task, mercer.TwoStageClassifier, mercer.TwoStageRegressor)()


def stacking(split: TableSplit, _: Any) -> Any:
    """Return mercer's stacking estimator."""
    mercer = import_module("mercer")
    if not hasattr(mercer, "KernelStackingRegressor"):
        raise Unavailable("stacking: mercer has no KernelStackingRegressor yet")
    return of_task(split.task, mercer.KernelStackingClassifier, mercer.KernelStackingRegressor)()


def of_torch(split: TableSplit, *, method: TorchMethod) -> Measures:
    """Fit a method to encoded inputs and, for responses, to standardized ones."""
    given, classes = encoded(split), split.task == "classification"
    offset, unit = (0.0, 1.0) if classes else (split.y_train.mean(), split.y_train.std())
    y = split.y_train if classes else (split.y_train - offset) / unit
    found = method.predicted(given.train, y, given.test, classes=classes)
    predicted = found["predicted"] if classes else offset + unit * found["predicted"]
    calibration = of_probabilities(split.y_test, found["probabilities"]) if classes else {}
    return {
        **of_predictions(split, predicted),
        **calibration,
        "fit_seconds": given.seconds + float(found["fit_seconds"]),
        "predict_seconds": float(found["predict_seconds"]),
    }


def of_task(task: Task, classifier: Any, regressor: Any) -> Any:
    """Return the first for classes, the second for responses."""
    return classifier if task == "classification" else regressor


def package(name: str) -> Any:
    """Import a package of the extra `experiments`.

    Raises
    ------
    Unavailable
        If it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise Unavailable(f"{name} is not installed: pip install mercer[experiments]") from None


# The methods by name. Trees take the columns as they are, and also encoded.
METHODS: dict[str, Method] = {
    "stacking": partial(of_estimator, make=stacking),
    "two-stage": partial(of_estimator, make=two_stage),
    "grid search": partial(of_estimator, make=grid_search),
    "LightGBM": partial(of_estimator, make=light_gbm, inputs=native),
    "LightGBM, encoded": partial(of_estimator, make=light_gbm),
    "XGBoost": partial(of_estimator, make=xgboost, inputs=native),
    "XGBoost, encoded": partial(of_estimator, make=xgboost),
    "HistGB": partial(of_estimator, make=histogram_boosting, inputs=native),
    "HistGB, encoded": partial(of_estimator, make=histogram_boosting),
    "CatBoost": partial(of_estimator, make=catboost, inputs=strings),
    "EBM": partial(of_estimator, make=boosting_machine, inputs=native),
    "forest": partial(of_estimator, make=forest),
    "GP-ARD": partial(of_estimator, make=gaussian_process),
    "xRFM": partial(of_torch, method=XRFM),
    "RealMLP-TD": partial(of_torch, method=REALMLP),
}

# The methods whose result differs from that with native inputs only on tables with categories or
# missing values, since trees depend on the order of numbers only.
ENCODED = tuple(name for name in METHODS if name.endswith(", encoded"))
