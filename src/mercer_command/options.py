"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer_command.option_names import CHOICES, TASK_RULE

Table = Annotated[Path, typer.Argument(help="CSV or Parquet file.")]
Tables = Annotated[
    Path, typer.Argument(help="CSV or Parquet file, or folder of Parquet files.", metavar="TABLE")
]
Target = Annotated[str, typer.Option(help="Column to predict.", metavar="COLUMN")]
TaskName = Annotated[
    str, typer.Option("--task", help=f"auto, classification or regression. auto: {TASK_RULE}")
]
Report = Annotated[
    Path | None, typer.Option(help="Write an HTML report with figures.", metavar="FILE")
]
TestSize = Annotated[
    float,
    typer.Option(help="Share of held-out rows, at most 10,000.", min=0.01, max=0.99),
]
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
Repeats = Annotated[int, typer.Option(help="Number of random splits.", min=1)]
ColumnsFile = Annotated[
    Path | None,
    typer.Option(
        "--columns",
        help="CSV of the columns name, role and format that says how columns are read and used, "
        f"where that is not recognized; mercer columns writes one. Roles: {', '.join(CHOICES)}.",
        metavar="FILE",
    ),
]
