"""Predicts by mutated models, and says of each what happened.

Usage: mutation_worker.py FOLDER FUNCTION SEED...

The folder holds the models and tables that `test_mutations.py` writes, the function is one of
`mutations.py`. Each seed has a line on
stdout before it is tried and one after it, so that a process that ends or stalls tells at which.
"""

import gc
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import mutations
from command_cases import call
from joblib import cpu_count

import mercer

MAX_MEMORY = 2 * 2**30
MAX_SECONDS = 20
MOST_HELD = Path("/proc/self/clear_refs")
"""What is written here makes the most memory that was held that which is held."""

FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
    *("subprocess.Popen", "socket.connect", "socket.bind", "pickle.find_class", "ctypes.dlopen"),
    *("shutil.rmtree", "os.symlink", "os.link", "webbrowser.open", "urllib.Request"),
)
"""Audit events of what neither a model nor a table may cause."""


class TooLong(BaseException):
    """A case took longer than it may."""


def stop(*_: Any) -> None:
    raise TooLong


def watched() -> list[str]:
    """Return the list to which audit hooks add what must not happen."""
    events: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FORBIDDEN:
            events.append(event)
        elif event == "import" and arguments[0] == "canary":
            events.append("import canary")
        elif event == "open" and set(arguments[1] or "") & set("wax+"):
            path = Path(os.fsdecode(arguments[0])).absolute()
            if path.parent != Path.cwd() and path not in (Path(os.devnull), MOST_HELD):
                events.append(f"open {path}")

    sys.addaudithook(hook)
    return events


def outcome(result: Any) -> str:
    """Return "refused" or "answered"; raise for anything else."""
    if result.exit_code == 0:
        return "answered"
    assert result.exit_code == 2, repr(result.exception)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.stderr.startswith("mercer: "), result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    assert "out of memory" not in result.stderr, result.stderr
    return "refused"


def memory(name: str) -> int:
    """Bytes of memory that are held ("VmRSS"), or that were held at most ("VmHWM")."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def measured_load(path: str) -> tuple[float, int]:
    """Processor seconds and bytes of memory that loading takes, whether it succeeds or not."""
    gc.collect()
    MOST_HELD.write_text("5")
    before, start = memory("VmRSS"), time.process_time()
    try:
        loaded = mercer.load(path)
        del loaded
    except ValueError as error:
        assert str(error).startswith(path), error  # noqa: PT017
    return time.process_time() - start, memory("VmHWM") - before


def try_model(mutation: str, seed: int) -> tuple[str, float, int]:
    """Damaged files are refused, and forged ones end as well; see `mutations.forged_model`."""
    name = ("classes", "classes2", "responses", "responses2")[seed // 12 % 4]
    kind = getattr(mutations, mutation)(Path(f"{name}.skops"), Path("mutated.skops"), seed)
    seconds, n_bytes = measured_load("mutated.skops")
    found = outcome(call("predict", "mutated.skops", f"{name}.csv", "--out", "p.csv"))
    if found == "answered":
        same = Path("p.csv").read_bytes() == Path(f"{name}-p.csv").read_bytes()
        assert same or not kind.endswith("s"), f"{kind}: another answer"
        found = "answered the same" if same else "answered otherwise"
    return f"{kind}: {found}", seconds, n_bytes


def main(folder: str, mutation: str, *seeds: str) -> None:
    os.chdir(folder)
    sys.path.insert(0, folder)
    signal.signal(signal.SIGALRM, stop)
    call("predict", "classes.skops", "classes.csv", "--out", "p.csv")  # It imports what it needs.
    cpu_count(only_physical_cores=True)  # It runs `lscpu`, once in a process.
    gc.freeze()  # What was imported stays, so that collections need not look at it.
    events = watched()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_MEMORY, -1))
    for seed in map(int, seeds):
        print(json.dumps([seed]), flush=True)  # noqa: T201
        seconds, n_bytes = 0.0, 0
        try:
            signal.alarm(MAX_SECONDS)
            found, seconds, n_bytes = try_model(mutation, seed)
            signal.alarm(0)
            problem = ", ".join(events) or None
        except (Exception, TooLong) as error:
            found, problem = "failed", f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
        events.clear()
        print(json.dumps([seed, found, problem, seconds, n_bytes]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
