"""Arguments and options of the commands: one table of all of them, and a class for each command."""

from dataclasses import MISSING, Field, dataclass, fields
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from mercer_command.methods import COMPARED, LEARNERS, METHODS
from mercer_command.names import CLASS_METRICS, RESPONSE_METRICS

_TABLE: dict[str, tuple[str, str]] = {
    "table": ("TABLE", "CSV or Parquet file; - for CSV on stdin."),
    "model": ("MODEL", "Model saved by mercer fit."),
    "target": ("COLUMN", "Column to predict."),
    "task": ("TEXT", "auto, classification, regression, ordinal (grades, in order) or count."),
    "order": ("GRADES", "Grades in words, the lowest first: 'low,high'. Implies --task ordinal."),
    "columns": (
        "PAIRS",
        "How columns are read, such as 'ID=category,Day=date %d.%m.%Y,Price=number comma'.",
    ),
    "missing": ("VALUES", "Values that mean a missing cell, in all columns or one: '-999,size=?'."),
    "no_header": ("", "The first line holds data, not names of columns."),
    "group": ("COLUMN", "Column of groups, such as patients, each held out as a whole."),
    "time": ("COLUMN", "Column of times: learn from earlier rows, test on later rows."),
    "metric": (
        "NAME",
        f"Score to show first. For classes: {', '.join(CLASS_METRICS)}. For numbers: "
        f"{', '.join(RESPONSE_METRICS)}.",
    ),
    "report": ("FILE", "Write an HTML report with figures."),
    "seed": ("INTEGER", "Seed of the random splits."),
    "device": ("NAME", "cpu, cuda (a graphics card, by PyTorch), or auto: cuda if possible."),
    "learner": (
        "TEXT",
        "How the kernel is learned (fixed: widths of a list; searched: any widths). "
        + "; ".join(f"{name}: {METHODS[name].description}" for name in LEARNERS),
    ),
    "with_": (
        "NAMES",
        "Other estimators that the stack combines with its own: catboost, lightgbm, or classes as "
        "module:Class, separated by commas.",
    ),
    "out": ("FILE", "Save the model (skops)."),
    "predict out": ("FILE", "Write predictions to this CSV or Parquet file."),
    "explain out": ("FILE", "Write the reasons to this CSV or Parquet file."),
    "refit": ("", "After the test, fit again on all rows, and save this model."),
    "random": ("", "Test on rows drawn at random, even if the checks call for other rows."),
    "details": ("", "Show all tables, as the report does."),
    "test_size": ("FLOAT", "Share of held-out rows, at most 10,000."),
    "interval": ("COVERAGE", "Add intervals of this coverage, such as 0.9."),
    "keep": ("COLUMNS", "Columns to copy from the table, separated by commas."),
    "methods": ("TEXT", f"Methods, separated by commas; by default {', '.join(COMPARED)}."),
    "repeats": ("INTEGER", "Number of splits."),
    "csv": ("FILE", "Write the results to this CSV or Parquet file."),
}
"""What stands for the value of each argument and option in the help, and a sentence on it. A name
with a command before it is for this command."""

_ARGUMENTS = ("model", "table")
"""The arguments; all others are options."""

_ENDS = {"seed": (0, None), "repeats": (1, None), "test_size": (0.01, 0.99)}
"""The smallest and the largest value of numbers."""


@dataclass(frozen=True)
class Options:
    """Arguments and options of a command; the docstring of its class is the help."""

    def words(self) -> tuple[str, ...]:
        """Return the command, its arguments, and the options that differ from their defaults."""
        words = ["mercer", self.command()]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _ARGUMENTS:
                words.append(str(value))
            elif value != field.default:
                words.append(f"--{'no-' * (value is False)}{_flag(field.name)}")
                words += [] if isinstance(value, bool) else [str(value)]
        return tuple(words)

    @classmethod
    def command(cls) -> str:
        """Return the name of the command."""
        return cls.__name__.lower()

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """Return the parameters of a function that Typer makes a command of."""
        hints = get_type_hints(cls)
        return [cls._parameter(field, hints[field.name]) for field in fields(cls)]

    @classmethod
    def _parameter(cls, field: Field[Any], hint: Any) -> Parameter:
        name = field.name
        metavar, text = _TABLE.get(f"{cls.command()} {name}", _TABLE[name])
        told: Any = typer.Argument(help=text, metavar=metavar)
        if name not in _ARGUMENTS:
            flag = _flag(name)
            both = f"/--no-{flag}" if field.default is True else ""
            least, most = _ENDS.get(name, (None, None))
            words = [f"--{flag}{both}"]
            told = typer.Option(*words, help=text, metavar=metavar or None, min=least, max=most)
        default = Parameter.empty if field.default is MISSING else field.default
        annotation = Annotated[hint, told]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _flag(name: str) -> str:
    """Return the name of an option without its dashes; words of Python end with an underscore."""
    return name.rstrip("_").replace("_", "-")


@dataclass(frozen=True)
class _Learning(Options):
    table: Path
    target: str
    task: str = "auto"
    order: str | None = None
    columns: str | None = None
    missing: str | None = None
    no_header: bool = False
    group: str | None = None
    time: str | None = None
    metric: str | None = None
    report: Path | None = None
    seed: int = 0
    device: str = "cpu"


@dataclass(frozen=True)
class Fit(_Learning):
    """Learn a kernel and a predictor from a table, and test them on held-out rows.

    Folders of Parquet files, and Parquet files of more than 10,000,000 values, do not have to fit
    into memory.
    """

    learner: str = "stacking"
    with_: str | None = None
    out: Path | None = None
    refit: bool = True
    random: bool = False
    details: bool = False
    test_size: float = 0.25


@dataclass(frozen=True)
class Predict(Options):
    """Predict each row of a table with a saved model.

    A model is loaded only if all its types belong to mercer or scikit-learn. Columns that it was
    not fitted to, such as the target, are ignored. Parquet files do not have to fit into memory.
    """

    model: Path
    table: Path
    out: Path
    interval: float | None = None
    keep: str | None = None
    no_header: bool = False


@dataclass(frozen=True)
class Explain(Options):
    """Show why a saved model predicts what it does, and which columns matter, for rows of a table.

    The largest contributions to each prediction are given in words: how far a column moves the
    prediction away from the prediction for the average training row. If the table has the target,
    the error is shown first. It leaves out rows that equal training rows; if too few other rows
    remain, it is computed on all rows, and they are called known rows.
    """

    model: Path
    table: Path
    out: Path | None = None
    no_header: bool = False
    report: Path | None = None
    details: bool = False


@dataclass(frozen=True)
class Columns(Options):
    """Show how the columns of a table are read and used, without learning."""

    table: Path
    missing: str | None = None
    no_header: bool = False


@dataclass(frozen=True)
class Compare(_Learning):
    """Compare methods on the same splits by test error, test alignment, time to fit, and rank.

    Methods of other packages, with their default settings, are compared with the methods that learn
    kernels. Each split holds out a quarter of the rows; with --time, each of the five default
    splits holds out a sixth, and trains on all earlier rows. Ctrl-C ends the comparison, and shows
    the methods that are done.
    """

    methods: str | None = None
    repeats: int = 5
    csv: Path | None = None


@dataclass(frozen=True)
class Demo(Options):
    """Learn the distance of a robot's hand to a cup from a generated table, in half a minute."""

    out: Path | None = None
    report: Path | None = None
    details: bool = False
