"""Names of scores, tasks, devices and roles of columns on the command line."""

from typing import NamedTuple

DEVICES = ("cpu", "cuda", "auto")
"""Where large matrices are computed."""

KINDS = {"ordinal": "classification", "count": "regression"}
"""The task of each kind of target that has a learner of the same name."""

CLASS_METRICS = ("error", "balanced_accuracy", "roc_auc", "log_loss", "mae")
"""Scores for classes; `roc_auc` is for two classes, and `mae` for grades."""

RESPONSE_METRICS = ("rmse", "mae", "r2", "log_rmse", "poisson_deviance")
"""Scores for responses; the last two are for positive, heavy-tailed responses and for counts."""


class Score(NamedTuple):
    """Names of a score: in narrow headers, in sentences, and in titles."""

    header: str
    words: str
    title: str


SCORES = {
    "error": Score("Error", "share of wrong predictions", "Error (share misclassified)"),
    "balanced_accuracy": Score(
        "Balanced", "balanced accuracy, the mean share of each class found,", "Balanced accuracy"
    ),
    "roc_auc": Score(
        "ROC AUC",
        "area under the ROC curve, which is 1 for a perfect ranking and 0.5 for chance,",
        "ROC AUC",
    ),
    "log_loss": Score("Log-loss", "log-loss", "Log-loss"),
    "rmse": Score("RMSE", "root mean squared error", "Error (RMSE)"),
    "mae": Score("MAE", "mean absolute error", "Error (mean absolute)"),
    "r2": Score("R²", "R², the share of the variance that is explained,", "R²"),
    "log_rmse": Score(
        "log-RMSE", "root mean squared error of the logarithms", "Error (RMSE of the logarithms)"
    ),
    "poisson_deviance": Score("Deviance", "mean Poisson deviance", "Poisson deviance"),
}
"""Scores by the names that the library gives them."""

HIGH_IS_GOOD = ("balanced_accuracy", "roc_auc", "r2")
"""Scores whose higher values are better; the others are errors."""

SHARES = ("error", "balanced_accuracy")
"""Scores that are written in percent."""

ROLES = ("number", "category", "date", "time", "duration", "text", "ignored")
"""Names of the roles of columns in files of columns and in messages."""
