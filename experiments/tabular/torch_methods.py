"""Methods that need torch, each in a Python environment and a process of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Unavailable


@dataclass(frozen=True)
class TorchMethod:
    """A method in an environment with the CPU build of torch.

    Attributes
    ----------
    name : str
    package : str
        What pip installs beside torch.
    worker : Path
        The program that fits and predicts; see `worker_loop.py`.
    """

    name: str
    package: str
    worker: Path

    @property
    def variable(self) -> str:
        """The environment variable that names the Python interpreter with the method."""
        return f"MERCER_{self.name.split('-')[0].upper()}_PYTHON"

    @property
    def installation(self) -> str:
        """How to make the environment."""
        folder = self.name.split("-")[0].lower()
        return (
            f"python3 -m venv {folder}; {folder}/bin/pip install torch --index-url "
            f"https://download.pytorch.org/whl/cpu; {folder}/bin/pip install {self.package}; "
            f"export {self.variable}=$PWD/{folder}/bin/python"
        )

    def predicted(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        X_test: NDArray[np.float64],
        *,
        classes: bool,
    ) -> dict[str, NDArray[np.float64]]:
        """Fit the method with its defaults, and predict.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            Class codes, or standardized responses.
        X_test : ndarray of shape (n_test, n_features)
        classes : bool

        Returns
        -------
        dict of str to ndarray
            "predicted", "fit_seconds", "predict_seconds" and, for classes, "probabilities".

        Raises
        ------
        Unavailable
            If the environment variable is not set.
        """
        interpreter = os.environ.get(self.variable)
        if not interpreter:
            raise Unavailable(
                f"{self.name}: {self.variable} names no Python interpreter with it "
                f"({self.installation})"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            np.savez(path, X=X, y=y, X_test=X_test, classes=np.array(classes))
            self.ask(interpreter, path)
            with np.load(path) as found:
                return dict(found)

    def ask(self, interpreter: str, path: Path) -> None:
        """Let the worker of this process replace a file of rows by one of predictions."""
        process = running(interpreter, self.worker)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        if process.stdout.readline() != "done\n":
            running.cache_clear()
            process.communicate()
            raise RuntimeError(f"{self.name} failed; the reason stands in its own output")


@cache
def running(interpreter: str, worker: Path) -> subprocess.Popen[str]:
    """Start a worker, which ends with this process; importing torch takes longer than a fit."""
    return subprocess.Popen(
        [interpreter, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


HERE = Path(__file__).parent
XRFM = TorchMethod("xRFM", "xrfm==0.4.5", HERE / "xrfm_worker.py")
REALMLP = TorchMethod("RealMLP-TD", "pytabkit==1.7.3", HERE / "realmlp_worker.py")
