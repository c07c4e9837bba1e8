"""The commands' arguments and options, one class for each command."""

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
