"""Arguments and options of the commands, one class for each command."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, get_type_hints

import typer

from mercer_command.names import (
    CLASS_METRICS,
    COMPARED,
    DESCRIPTIONS,
    LEARNERS,
    RESPONSE_METRICS,
    ROLES,
)

_TASK_HELP = (
    "auto, classification, regression, ordinal (grades, in order) or count. auto: classification "
    "for text, booleans and at most 20 distinct whole numbers; regression for dates and other "
    "numbers."
)
_LEARNER_HELP = (
    "How the kernel is learned (fixed: widths of a list; searched: any widths). "
    + "; ".join(f"{name}: {DESCRIPTIONS[name]}" for name in LEARNERS)
)
_COLUMNS_HELP = (
    "How columns are read: pairs such as 'StoreID=category,Day=ignored', or a CSV file that "
    f"mercer columns --out writes. Roles: {', '.join(ROLES)}."
)
_METRIC_HELP = (
    f"Score to show first. For classes: {', '.join(CLASS_METRICS)}. For numbers: "
    f"{', '.join(RESPONSE_METRICS)}."
)

Table = Annotated[Path, typer.Argument(help="CSV or Parquet file; - for CSV on stdin.")]
Tables = Annotated[
    Path,
    typer.Argument(help="CSV or Parquet file, or a folder of them; - for stdin.", metavar="TABLE"),
]
Model = Annotated[Path, typer.Argument(help="Model saved by mercer fit.")]
Report = Annotated[
    Path | None, typer.Option(help="Write an HTML report with figures.", metavar="FILE")
]
Out = Annotated[Path | None, typer.Option(help="Save the model (skops).", metavar="FILE")]
Seed = Annotated[int, typer.Option(help="Seed of the random splits.", min=0)]
Device = Annotated[
    str,
    typer.Option(
        help="cpu, cuda (a graphics card, by PyTorch), or auto: cuda if possible.", metavar="NAME"
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Read Parquet on the Dask cluster of this scheduler.", metavar="ADDRESS"),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Read Parquet in this number of processes, by Dask.", metavar="N", min=1),
]
Repeats = Annotated[int, typer.Option(help="Number of splits.", min=1)]
Missing = Annotated[
    str | None,
    typer.Option(
        help="Values that mean a missing cell: '-999,size=unknown' is -999 in all columns, and "
        "unknown in the column size.",
        metavar="VALUES",
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line holds data, not names of columns.")
]
Group = Annotated[
    str | None,
    typer.Option(
        help="Column of groups, such as patients, each held out as a whole.", metavar="COLUMN"
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="Column of times: learn from earlier rows, test on later rows.", metavar="COLUMN"
    ),
]
Details = Annotated[bool, typer.Option("--details", help="Show all tables, as the report does.")]
Split = Annotated[
    Path | None,
    typer.Option(
        help="Table with train, test or an empty cell (unused) for each row.", metavar="FILE"
    ),
]


@dataclass(frozen=True)
class Options:
    """Arguments and options of a command; the docstring of its class is the help."""

    def words(self) -> tuple[str, ...]:
        """Return the command, its arguments, and the options that differ from their defaults."""
        words = ["mercer", type(self).__name__.lower()]
        hints = get_type_hints(type(self), include_extras=True)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(hints[field.name].__metadata__[0], typer.models.ArgumentInfo):
                words.append(str(value))
            elif value != field.default:
                words.append(f"--{'no-' * (value is False)}{field.name.replace('_', '-')}")
                words += [] if isinstance(value, bool) else [str(value)]
        return tuple(words)


@dataclass(frozen=True)
class _Learning(Options):
    table: Tables
    target: Annotated[str, typer.Option(help="Column to predict.", metavar="COLUMN")]
    task: Annotated[str, typer.Option(help=_TASK_HELP)] = "auto"
    order: Annotated[
        str | None,
        typer.Option(
            help="Grades in words, the lowest first: 'poor,fair,good'. Implies --task ordinal.",
            metavar="GRADES",
        ),
    ] = None
    columns: Annotated[str | None, typer.Option(help=_COLUMNS_HELP, metavar="PAIRS|FILE")] = None
    missing: Missing = None
    no_header: NoHeader = False
    group: Group = None
    time: Time = None
    split: Split = None
    metric: Annotated[str | None, typer.Option(help=_METRIC_HELP, metavar="NAME")] = None
    report: Report = None
    seed: Seed = 0
    device: Device = "cpu"


@dataclass(frozen=True)
class Fit(_Learning):
    """Learn a kernel and a predictor from a table, and test them on held-out rows.

    Folders of Parquet files, Parquet files of more than 10,000,000 values, and files read by Dask
    do not have to fit into memory.
    """

    learner: Annotated[str, typer.Option(help=_LEARNER_HELP)] = LEARNERS[0]
    out: Out = None
    refit: Annotated[
        bool,
        typer.Option(
            "--refit/--no-refit",
            help="After the test, fit again on all rows, and save this model.",
        ),
    ] = True
    random: Annotated[
        bool,
        typer.Option(
            "--random",
            help="Test on rows drawn at random, even if rows belong together, follow each other "
            "in time, or are copies of others.",
        ),
    ] = False
    details: Details = False
    cost: Annotated[
        str | None,
        typer.Option(
            help="Costs of predicting the second class wrongly, and of missing it.",
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
    not fitted to, such as the target, are ignored. Parquet files do not have to fit into memory.
    """

    model: Model
    table: Tables
    out: Annotated[
        Path, typer.Option(help="Write predictions to this CSV or Parquet file.", metavar="FILE")
    ]
    interval: Annotated[
        float | None,
        typer.Option(help="Add intervals of this coverage, such as 0.9.", metavar="COVERAGE"),
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(
            help="Columns to copy from the table, separated by commas.", metavar="COLUMNS"
        ),
    ] = None
    intervals: Annotated[bool, typer.Option("--intervals", help="The same as --interval 0.9.")] = (
        False
    )
    why: Annotated[
        int | None,
        typer.Option(help="Add the N largest contributions in words.", metavar="N", min=1),
    ] = None
    no_header: NoHeader = False
    cluster: Cluster = None
    workers: Workers = None


@dataclass(frozen=True)
class Explain(Options):
    """Show why a saved model predicts what it does, and which columns matter, for rows of a table.

    The largest contributions to each prediction are given in words: how far a column moves the
    prediction away from the prediction for the average training row. If the table has the target,
    the error is shown first. It leaves out rows that equal training rows; if too few other rows
    remain, it is computed on all rows, and they are called known rows.
    """

    model: Model
    table: Table
    out: Annotated[
        Path | None,
        typer.Option(help="Write the reasons to this CSV or Parquet file.", metavar="FILE"),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(
            help="Column of groups, such as patients; confidence intervals are for new groups.",
            metavar="COLUMN",
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            help="Column of times, for rows that are all later than the training rows.",
            metavar="COLUMN",
        ),
    ] = None
    split: Annotated[
        Path | None,
        typer.Option(
            help="Table with train, test or an empty cell for each row; only test rows are used.",
            metavar="FILE",
        ),
    ] = None
    no_header: NoHeader = False
    report: Report = None
    details: Details = False
    seed: Seed = 0


@dataclass(frozen=True)
class Columns(Options):
    """Show how the columns of a table are read and used, without learning."""

    table: Table
    missing: Missing = None
    no_header: NoHeader = False
    out: Annotated[
        Path | None,
        typer.Option(help="Write a CSV file to edit and to pass to --columns.", metavar="FILE"),
    ] = None


@dataclass(frozen=True)
class Compare(_Learning):
    """Compare methods on the same splits by test error, test alignment, time to fit, and rank.

    Methods of other packages, with their default settings, are compared with the methods that learn
    kernels. Each split holds out a quarter of the rows; with --time, each of the five default
    splits holds out a sixth, and trains on all earlier rows. The fastest methods run first. Methods
    that would not finish in time are left out, even if --methods names them; --minutes sets the
    time limit.
    """

    methods: Annotated[
        str | None,
        typer.Option(help=f"Methods, separated by commas; by default {', '.join(COMPARED)}."),
    ] = None
    repeats: Repeats = 5
    minutes: Annotated[
        float,
        typer.Option(help="Time limit; methods that would not finish are left out.", min=0.01),
    ] = 2.0
    csv: Annotated[
        Path | None,
        typer.Option(help="Write the results to this CSV or Parquet file.", metavar="FILE"),
    ] = None


@dataclass(frozen=True)
class Demo(Options):
    """Learn the distance of a robot's hand to a cup from a generated table, in half a minute."""

    out: Out = None
    report: Report = None
    details: Details = False
