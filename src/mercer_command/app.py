"""The commands' arguments and options, one class for each command, and the names that they take.

Nothing but the command line is imported here, so that help is fast.
"""

import sys
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from mercer import __version__
from mercer_command.messages import ROLES, one_line, visible

DESCRIPTIONS = {
    "stacking": "predictions combined",
    "ca": "searched widths",
    "ca-nd": "searched, per feature",
    "auto": "per feature if better",
    "alignf": "fixed, max alignment",
    "align": "fixed, own alignment",
    "hsic-w": "fixed, own HSIC",
    "uniform": "fixed, equal weights",
    "hsic": "one width, HSIC",
    "cka": "one width, alignment",
    "ka": "one width, uncentered",
    "mkl": "fixed, one-stage, l1",
    "mkl-2": "fixed, one-stage, l2",
    "cr": "searched, one-stage",
    "bayes": "fixed, evidence",
    "l1-svm": "mkl, for classes",
    "l2-krr": "mkl-2, for responses",
    "ordinal": "ordered grades",
    "count": "Poisson regression",
    "grid": "RBF, grid search",
    "linear": "ridge, or logistic",
    "boosting": "boosted trees",
    "forest": "random forest",
    "lightgbm": "boosted trees",
    "catboost": "boosted trees",
}
"""A few words on how each method finds kernels, their widths and their weights."""

OTHERS = ("grid", "linear", "boosting", "forest", "lightgbm", "catboost")
"""The methods of other packages, which `compare` has beside those that learn a kernel."""

LEARNERS = tuple(name for name in DESCRIPTIONS if name not in OTHERS)
"""The methods that learn a kernel."""

KINDS = {"ordinal": "classification", "count": "regression"}
"""What the task is of kinds of targets that have a learner of the same name."""

COMPARED = tuple(n for n in DESCRIPTIONS if n not in ("ca-nd", "l1-svm", "l2-krr", *KINDS))
"""The methods that are compared by default. Left out are `ca-nd`, which `auto` tries too in the
same time, and two methods that solve the same problems as `mkl` and `mkl-2`. LightGBM and CatBoost
are compared where they are installed."""

CLASS_METRICS = ("error", "balanced_accuracy", "roc_auc", "log_loss", "mae")
"""Scores of classes; `roc_auc` is for two of them, and `mae` for numbers."""

RESPONSE_METRICS = ("rmse", "mae", "r2", "log_rmse", "poisson_deviance")
"""Scores of responses; the last two are for positive ones with a heavy tail, and for counts."""

HIGH_IS_GOOD = ("balanced_accuracy", "roc_auc", "r2")
"""Scores that are better the higher they are; the others are errors."""

_TASK_HELP = (
    "auto, classification, regression, ordinal (grades, in order) or count. auto: Text, booleans "
    "and categories are classes; dates and numbers with fractions are a response; whole numbers "
    "are classes if they have at most 20 distinct values, and else a response."
)
_LEARNER_HELP = "How kernels, their widths and their weights are learned. " + "; ".join(
    f"{name}: {DESCRIPTIONS[name]}" for name in LEARNERS
)
_COLUMNS_HELP = (
    "How columns are read and used, where that is not recognized: pairs such as "
    "'StoreID=category,Day=ignored', or a CSV file of the columns name, role and format, as "
    f"mercer columns writes one. Roles: {', '.join(ROLES)}."
)

Table = Annotated[Path, typer.Argument(help="CSV or Parquet file; - for CSV on stdin.")]
Tables = Annotated[
    Path,
    typer.Argument(help="CSV or Parquet file, folder of these; - for stdin.", metavar="TABLE"),
]
Model = Annotated[Path, typer.Argument(help="Model saved by mercer fit.")]
Report = Annotated[
    Path | None, typer.Option(help="Write an HTML report with figures.", metavar="FILE")
]
Out = Annotated[Path | None, typer.Option(help="Save the tested model (skops).", metavar="FILE")]
Seed = Annotated[int, typer.Option(help="Seed of the random splits.", min=0)]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Read Parquet files on the Dask cluster of this scheduler, such as tcp://host:8786.",
        metavar="ADDRESS",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Read Parquet files in this number of processes, by Dask.", metavar="N", min=1
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        help=f"The score that comes first. Of classes: {', '.join(CLASS_METRICS)}. Of responses: "
        f"{', '.join(RESPONSE_METRICS)}. By default the one that suits the target.",
        metavar="NAME",
    ),
]
Repeats = Annotated[int, typer.Option(help="Number of splits.", min=1)]
Missing = Annotated[
    str | None,
    typer.Option(
        help="Values that stand for missing cells, separated by commas, such as '-999,unknown'; "
        "COLUMN=VALUE for one column alone.",
        metavar="VALUES",
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The first line holds data; columns are called column 1, column 2, ..."
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="Column of what rows belong to, such as patients: rows of a group are held out "
        "together, in the test and inside the fit. It is not learned from.",
        metavar="COLUMN",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="Column of dates or numbers that orders the rows in time: the past is learned from, "
        "and the last part tested on.",
        metavar="COLUMN",
    ),
]
Split = Annotated[
    Path | None,
    typer.Option(
        help="Table with a line for each row, whose cells say train, test or nothing; a column for "
        "each split.",
        metavar="FILE",
    ),
]


@dataclass(frozen=True)
class Options:
    """Arguments and options of a command; its docstring is the help."""

    def words(self) -> tuple[str, ...]:
        """Return the command with its arguments, and the options that are not the defaults."""
        words = ["mercer", type(self).__name__.lower()]
        hints = get_type_hints(type(self), include_extras=True)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(hints[field.name].__metadata__[0], typer.models.ArgumentInfo):
                words.append(str(value))
            elif value != field.default:
                words.append(f"--{field.name.replace('_', '-')}")
                words += [] if value is True else [str(value)]
        return tuple(words)


@dataclass(frozen=True)
class _Learning(Options):
    table: Tables
    target: Annotated[str, typer.Option(help="Column to predict.", metavar="COLUMN")]
    task: Annotated[str, typer.Option(help=_TASK_HELP)] = "auto"
    columns: Annotated[str | None, typer.Option(help=_COLUMNS_HELP, metavar="PAIRS|FILE")] = None
    missing: Missing = None
    no_header: NoHeader = False
    group: Group = None
    time: Time = None
    split: Split = None
    metric: Metric = None
    report: Report = None
    seed: Seed = 0


@dataclass(frozen=True)
class Fit(_Learning):
    """Learn a kernel and a predictor from a table, and test them on held-out rows.

    Folders, Parquet files of more than 10,000,000 values, and those read by Dask do not have to fit
    into memory.
    """

    learner: Annotated[str, typer.Option(help=_LEARNER_HELP)] = LEARNERS[0]
    out: Out = None
    cost: Annotated[
        str | None,
        typer.Option(
            help="What errors cost, of two classes: a false second class and a missed one, such as "
            "1,10. The threshold of their probability is chosen by it.",
            metavar="FALSE,MISSED",
        ),
    ] = None
    test_size: Annotated[
        float, typer.Option(help="Share of held-out rows, at most 10,000.", min=0.01, max=0.99)
    ] = 0.25
    cluster: Cluster = None
    workers: Workers = None


@dataclass(frozen=True)
class Predict(Options):
    """Predict each row of a table with a saved model.

    A model is loaded only if all its types belong to mercer or scikit-learn. Columns that it was
    not fitted on, such as the target, are ignored. Parquet files do not have to fit into memory.
    """

    model: Model
    table: Tables
    out: Annotated[Path, typer.Option(help="Write predictions, CSV or Parquet.", metavar="FILE")]
    interval: Annotated[
        float | None,
        typer.Option(
            help="Add columns of intervals that hold the response with this probability, such as "
            "0.9, if the model predicts responses.",
            metavar="COVERAGE",
        ),
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(
            help="Columns that are copied to the predictions, such as identifiers, separated by "
            "commas.",
            metavar="COLUMNS",
        ),
    ] = None
    intervals: Annotated[bool, typer.Option("--intervals", help="The same as --interval 0.9.")] = (
        False
    )
    why: Annotated[
        int | None,
        typer.Option(
            help="Add columns of the N largest contributions of columns to each prediction, in "
            "words. Rows then take hundredths of a second, or with many columns or kernels tenths.",
            metavar="N",
            min=1,
        ),
    ] = None
    no_header: NoHeader = False
    cluster: Cluster = None
    workers: Workers = None


@dataclass(frozen=True)
class Explain(Options):
    """Say why a saved model predicts what it does, and which columns matter, for rows of a table.

    Each row's largest contributions are in words: how far a column takes the prediction away from
    that of the average training row. If the table has the target, the error comes first. Rows that
    equal rows that the model learned from are left out of it, or called known rows.
    """

    model: Model
    table: Table
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write each row's largest contributions in words, and all as numbers, CSV or "
            "Parquet.",
            metavar="FILE",
        ),
    ] = None
    group: Group = None
    time: Time = None
    split: Split = None
    no_header: NoHeader = False
    report: Report = None
    seed: Seed = 0


@dataclass(frozen=True)
class Columns(Options):
    """Show how the columns of a table are read and used, without learning."""

    table: Table
    missing: Missing = None
    no_header: NoHeader = False
    out: Annotated[
        Path | None, typer.Option(help="Write a file for --columns, to edit, CSV.", metavar="FILE")
    ] = None


@dataclass(frozen=True)
class Compare(_Learning):
    """Compare methods on the same splits by test error, test alignment, time to fit, and rank.

    Beside the methods that learn kernels are those of other packages with their default settings.
    Each split holds out a quarter of the rows; with --time, a sixth, and trains on all that are
    earlier.
    """

    methods: Annotated[
        str | None,
        typer.Option(help=f"Methods, separated by commas; by default {', '.join(COMPARED)}."),
    ] = None
    repeats: Repeats = 5
    csv: Annotated[
        Path | None, typer.Option(help="Write results, CSV or Parquet.", metavar="FILE")
    ] = None


@dataclass(frozen=True)
class Demo(Options):
    """Compare methods and fit one on scikit-learn's breast-cancer table, in half a minute."""

    out: Out = None
    report: Report = None
    repeats: Repeats = 2


class OneLineErrors(TyperGroup):
    """Commands that end with one readable line and exit code 2 if the input is invalid."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; print one line for an error that the user can correct."""
        interrupted = 130
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except (KeyboardInterrupt, typer.Abort):
            code, message = interrupted, "interrupted"
        except Exception as error:
            line = one_line(error)
            if line is None:
                raise
            code, message = 2, line
        else:
            # Some versions of Typer turn an interruption into this exit code.
            if code != interrupted:
                sys.exit(code if isinstance(code, int) else 0)
            message = "interrupted"
        sys.stderr.write(f"mercer: {visible(message)}\n")
        sys.exit(code)


app = typer.Typer(
    cls=OneLineErrors,
    help="Learn a kernel from a table, show what was learned, and predict.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mercer {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _add_command(options: type[Options]) -> None:
    """Make a command of the fields of its options; `commands` has the function of its name."""
    name, hints = options.__name__.lower(), get_type_hints(options, include_extras=True)

    def run(**given: Any) -> None:
        from mercer_command import commands

        getattr(commands, name)(options(**given))

    parameters = [
        one.replace(annotation=hints[one.name], kind=Parameter.KEYWORD_ONLY)
        for one in signature(options).parameters.values()
    ]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    app.command(name, help=getdoc(options))(run)


for _options in (Fit, Predict, Explain, Columns, Compare, Demo):
    _add_command(_options)
