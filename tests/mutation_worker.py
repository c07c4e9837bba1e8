"""Predicts by mutated models, and says of each what happened.

Usage: mutation_worker.py FOLDER SEED...

The folder holds the models and tables that `test_mutations.py` writes. Each seed has a line on
stdout before it is tried and one after it, so that a process that ends or stalls tells at which.
"""

import gc
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from command_cases import call
from joblib import cpu_count
from mutations import mutated_model

MAX_MEMORY = 2 * 2**30
MAX_SECONDS = 20

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
            if path.parent != Path.cwd() and path != Path(os.devnull):
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


def predict_by_mutated_model(seed: int) -> str:
    """Damaged files are refused, or predict what they did; forged ones end as well."""
    name = ("classes", "classes2", "responses", "responses2")[seed // 10 % 4]
    kind = mutated_model(Path(f"{name}.skops"), Path("mutated.skops"), seed)
    found = outcome(call("predict", "mutated.skops", f"{name}.csv", "--out", "p.csv"))
    if found == "answered" and not kind.startswith("valid checksum"):
        assert Path("p.csv").read_bytes() == Path(f"{name}-p.csv").read_bytes(), "another answer"
    return f"{kind}: {found}"


def main(folder: str, *seeds: str) -> None:
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
        try:
            signal.alarm(MAX_SECONDS)
            found = predict_by_mutated_model(seed)
            signal.alarm(0)
            problem = ", ".join(events) or None
        except (Exception, TooLong) as error:
            found, problem = "failed", f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
        events.clear()
        gc.collect()
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if peak > MAX_MEMORY:
            problem = problem or f"{peak} bytes of memory"
        print(json.dumps([seed, found, problem]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
