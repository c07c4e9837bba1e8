"""The members that pages of the reference show: they exist, and those that users call are there."""

import importlib
from types import ModuleType

import pytest
from docs_modules import docs_module
from test_package import documented


@pytest.fixture(scope="module")
def extension() -> ModuleType:
    pytest.importorskip("sphinx")
    return docs_module("_ext/docstrings.py")


def test_shown_members_exist(extension: ModuleType) -> None:
    for beginning, shown in extension.SHOWN.items():
        module, _, name = beginning.rpartition(".")
        public = importlib.import_module(module)
        owners = [getattr(public, found) for found in ([name] if name else documented(module))]
        assert {
            member for member in shown if any(hasattr(owner, member) for owner in owners)
        } == shown


@pytest.mark.parametrize(
    ("owner", "member", "shown"),
    [
        ("mercer.kernels.Gaussian", "diag", True),
        ("mercer.kernels.Gaussian", "slope_at_theta", False),
        ("mercer.kernels.Kernel", "contract", True),
        ("mercer.kernels.Gaussian", "contract", False),
        ("mercer.KernelStackingRegressor", "predict_interval", True),
        ("mercer.MKLClassifier", "as_input", False),
        ("mercer.ParquetSource", "raw_blocks", False),
        ("mercer.inspection.ShapleyValues", "to_frame", True),
    ],
)
def test_pages_show_what_users_call(
    extension: ModuleType, owner: str, member: str, shown: bool
) -> None:
    assert extension.is_shown(owner, member) is shown
