"""Available memory, as the machine and the control groups of a process tell it, in a folder."""

from pathlib import Path

import pytest

from mercer import TwoStageRegressor
from mercer._gram import memory

GIB = 2**30
NO_LIMIT = 9223372036854771712


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a machine that has 64 GiB left."""
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
    write(tmp_path, "proc/meminfo", f"MemTotal: {2**27} kB\nMemAvailable:   {2**26} kB\n")
    return tmp_path


def write(root: Path, name: str, content: object) -> None:
    """Write a file, with the folders that it is in."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(f"{content}\n")


def group_2(root: Path, path: str, limit: object, used: float, cached: float = 0.0) -> None:
    """A control group of version 2, limits in GiB."""
    folder = f"sys/fs/cgroup{path}"
    write(root, f"{folder}/memory.max", limit if limit == "max" else int(limit * GIB))  # type: ignore[call-overload]
    write(root, f"{folder}/memory.current", int(used * GIB))
    write(root, f"{folder}/memory.stat", f"anon 5\ninactive_file {int(cached * GIB)}\nfile 9")


def group_1(root: Path, path: str, limit: float, used: float, cached: float = 0.0) -> None:
    """A control group of version 1."""
    folder = f"sys/fs/cgroup/memory{path}"
    write(root, f"{folder}/memory.limit_in_bytes", int(limit))
    write(root, f"{folder}/memory.usage_in_bytes", int(used * GIB))
    stat = f"inactive_file 7\ntotal_inactive_file {int(cached * GIB)}"
    write(root, f"{folder}/memory.stat", stat)


def test_without_groups_it_is_that_of_the_machine(root: Path) -> None:
    assert memory.available_memory() == 64 * GIB
    (root / "proc/meminfo").unlink()
    found = memory.available_memory()
    assert found is None or found > 0.0


def test_groups_of_version_2_limit_it(root: Path) -> None:
    write(root, "proc/self/cgroup", "0::/pods/one/two")
    group_2(root, "/pods/one/two", "max", 0.5)
    group_2(root, "/pods/one", 8, 3.0, 1.0)
    group_2(root, "/pods", 64, 60.5, 0.0)
    assert memory.available_memory() == 3.5 * GIB
    write(root, "sys/fs/cgroup/pods/one/two/memory.high", 2 * GIB)
    assert memory.available_memory() == 1.5 * GIB


def test_groups_of_version_1_limit_it(root: Path) -> None:
    write(root, "proc/self/cgroup", "5:cpu,cpuacct:/a/b/c\n4:hugetlb,memory:/a/b\n0::/")
    group_1(root, "/a/b", NO_LIMIT, 0.5)
    group_1(root, "/a", 2 * GIB, 1.5, 0.25)
    assert memory.available_memory() == 0.75 * GIB


@pytest.mark.parametrize(("version", "path"), [(1, "/docker/0123"), (2, "/"), (2, "/../..")])
def test_a_container_reads_its_own_group(root: Path, path: str, version: int) -> None:
    write(root, "proc/self/cgroup", f"0::{path}" if version == 2 else f"3:memory:{path}")
    if version == 2:
        group_2(root, "", 2, 0.25)
    else:
        group_1(root, "", 2 * GIB, 0.25)
    assert memory.available_memory() == 1.75 * GIB


def test_files_of_another_form_are_no_limits(root: Path) -> None:
    write(root, "proc/self/cgroup", "0::/a\n2:memory:/a")
    write(root, "sys/fs/cgroup/a/memory.max", "")
    write(root, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", NO_LIMIT)
    assert memory.available_memory() == 64 * GIB


def test_a_fit_in_a_container_does_not_plan_for_the_machine(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_UNCHECKED", 0.0)
    memory.check_gram_memory(30_000)
    write(root, "proc/self/cgroup", "0::/")
    group_2(root, "", 2, 0.5)
    message = (
        "30,000 rows need about 6.7 GiB of memory for a Gram matrix, and 1.5 GiB are available"
    )
    with pytest.raises(MemoryError, match=message):
        memory.check_gram_memory(30_000)
    group_2(root, "", 2, 2.0)
    with pytest.raises(MemoryError, match=r"and 0\.00 MiB are available"):
        TwoStageRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
