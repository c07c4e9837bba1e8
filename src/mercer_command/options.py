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
    "auto, classification, regression, ordinal (grades, in order) or count. auto: text, booleans "
    "and at most 20 distinct whole numbers are classes; dates and other numbers are a response."
)
_LEARNER_HELP = "How kernels, their widths and their weights are learned. " + "; ".join(
    f"{name}: {DESCRIPTIONS[name]}" for name in LEARNERS
)
_COLUMNS_HELP = (
    "How columns are read: pairs such as 'StoreID=category,Day=ignored', or a CSV file as mercer "
    f"columns writes one. Roles: {', '.join(ROLES)}."
)
_METRIC_HELP = (
    f"The score that comes first. Of classes: {', '.join(CLASS_METRICS)}. Of responses: "
    f"{', '.join(RESPONSE_METRICS)}."
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
Out = Annotated[Path | None, typer.Option(help="Save the model (skops).", metavar="FILE")]
Seed = Annotated[int, typer.Option(help="Seed of the random splits.", min=0)]
Device = Annotated[
    str,
    typer.Option(
        help="cpu, cuda, or auto: a graphics card, by PyTorch, where there is one.", metavar="NAME"
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
    typer.Option(help="What missing cells hold, such as '-999,size=unknown'.", metavar="VALUES"),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line holds data, not names of columns.")
]
Group = Annotated[
    str | None,
    typer.Option(help="Column of groups, such as patients, held out together.", metavar="COLUMN"),
]
Time = Annotated[
    str | None,
    typer.Option(help="Column of times: learn from the past, test on the rest.", metavar="COLUMN"),
]
Details = Annotated[bool, typer.Option("--details", help="Show all tables, as the report does.")]
Split = Annotated[
    Path | None,
    typer.Option(help="Table that says train, test or nothing for each row.", metavar="FILE"),
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
            help="After the test, the model that is saved learns from all rows.",
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
        typer.Option(help="What a false and a missed second class cost.", metavar="FALSE,MISSED"),
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
    out: Annotated[Path, typer.Option(help="Write predictions, CSV or Parquet.", metavar="FILE")]
    interval: Annotated[
        float | None,
        typer.Option(help="Add intervals of this coverage, such as 0.9.", metavar="COVERAGE"),
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(help="Columns to copy, separated by commas.", metavar="COLUMNS"),
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
    prediction away from the average training row's. If the table has the target, the error
    comes first. Rows that equal training rows of the model are left out of the error, or are called
    known rows.
    """

    model: Model
    table: Table
    out: Annotated[
        Path | None, typer.Option(help="Write reasons, CSV or Parquet.", metavar="FILE")
    ] = None
    group: Group = None
    time: Time = None
    split: Split = None
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
        Path | None, typer.Option(help="Write a file for --columns, to edit, CSV.", metavar="FILE")
    ] = None


@dataclass(frozen=True)
class Compare(_Learning):
    """Compare methods on the same splits by test error, test alignment, time to fit, and rank.

    Methods of other packages, with their default settings, are compared with the methods that learn
    kernels. Each split holds out a quarter of the rows; with --time, it holds out a sixth, and
    trains on all earlier rows. The fastest methods come first. What would not be done in time is
    left out, also of the methods that --methods names; --minutes gives more time.
    """

    methods: Annotated[
        str | None,
        typer.Option(help=f"Methods, separated by commas; by default {', '.join(COMPARED)}."),
    ] = None
    repeats: Repeats = 5
    minutes: Annotated[
        float,
        typer.Option(help="Time; methods that would not be done by then are left out.", min=0.01),
    ] = 2.0
    csv: Annotated[
        Path | None, typer.Option(help="Write results, CSV or Parquet.", metavar="FILE")
    ] = None


@dataclass(frozen=True)
class Demo(Options):
    """Learn how far a robot's hand is from a cup, from a made table, in half a minute."""

    out: Out = None
    report: Report = None
    details: Details = False
