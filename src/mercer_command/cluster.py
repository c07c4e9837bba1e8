"""Dask clusters on which the command reads Parquet files."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer_command.errors import InputError
from mercer_command.tables import is_parquet

_CONNECT = "10s"
"""The scheduler of a cluster must answer within this time."""


def check_cluster(table: Path, address: str | None, workers: int | None) -> None:
    """Check that at most one cluster is given, and that the table can be read there.

    Parameters
    ----------
    table : Path
    address : str or None
    workers : int or None

    Raises
    ------
    InputError
        If both are given, or one for a table that is not Parquet.
    """
    if address is not None and workers is not None:
        raise InputError("--cluster and --workers exclude each other")
    if (address is not None or workers is not None) and not is_parquet(table):
        raise InputError(f"--cluster and --workers are for Parquet files, and {table} is none")


@contextmanager
def cluster_client(address: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a Dask cluster, or start one on this machine until the block ends.

    Parameters
    ----------
    address : str or None
        Of the scheduler of a cluster, whose workers can read the table's files.
    workers : int or None
        Number of processes to start, of one thread each.

    Yields
    ------
    distributed.Client or None
        None if neither is given.

    Raises
    ------
    InputError
        If there is no cluster at the address, or it is lost inside the block.
    """
    if address is None and workers is None:
        yield None
        return
    client = _started(workers) if address is None else _connected(address)
    try:
        yield client
    except RuntimeError as error:
        if "Dask" not in str(error):
            raise
        raise InputError(str(error)) from error
    finally:
        cluster = client.cluster
        client.close()
        if address is None:
            cluster.close()


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"there is no Dask cluster at {address}") from error


def _started(workers: int | None) -> Any:
    from distributed import Client, LocalCluster

    with _interruptions_ignored():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
    return Client(cluster, set_as_default=False)


@contextmanager
def _interruptions_ignored() -> Iterator[None]:
    """Ignore Ctrl-C, also in processes that are started inside the block.

    A terminal sends it to all processes. Only this one must react, which ends the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
