"""Locks that do not stay closed in a process forked while another thread is inside."""

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

_owners = WeakSet[Any]()


def add_lock(owner: object) -> None:
    """Give an object the attribute `_lock`, and each forked process a lock of its own.

    A fork copies the lock, but not the thread that would open it.

    Parameters
    ----------
    owner : object
    """
    owner._lock = RLock()  # type: ignore[attr-defined]
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner._lock = RLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(after_in_child=_renew)
