"""Estimators of other packages, which the user adds to the stack as members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from mercer import KernelStackingClassifier, save
from mercer_command.messages import InputError, brief, did_you_mean, shown
from mercer_command.target_column import Task

_NAMED: dict[str, dict[Task, str]] = {
    package: {
        "classification": f"{package}:{stem}Classifier",
        "regression": f"{package}:{stem}Regressor",
    }
    for package, stem in (("catboost", "CatBoost"), ("lightgbm", "LGBM"))
}
"""Classes of the members that have a name, for each task."""

_SETTINGS: dict[str, dict[str, object]] = {
    "catboost": {"verbose": 0, "allow_writing_files": False},
    "lightgbm": {"verbose": -1},
}
"""Settings with which estimators of a package print nothing and write no files."""

_SEEDS = "random_state", "random_seed", "seed"
"""Names of the parameter that determines what an estimator draws, the usual one first."""


@dataclass(frozen=True)
class Member:
    """An estimator that the option `--with` names.

    Attributes
    ----------
    name : str
        A name of the option, such as "catboost" or "sklearn.svm:SVC".
    makers : mapping from {"classification", "regression"} to estimator
        The unfitted estimator for each task that it can learn.
    """

    name: str
    makers: Mapping[Task, BaseEstimator]

    def estimator(self, task: Task, seed: int) -> BaseEstimator:
        """Return the unfitted estimator for a task, with the seed if it takes one.

        Raises
        ------
        InputError
            If it cannot learn the task.
        """
        if task not in self.makers:
            [(own, found)] = self.makers.items()
            kinds = {"classification": "classes", "regression": "numbers"}
            raise InputError(
                f"--with {self.name}: {type(found).__name__} predicts {kinds[own]}, and the target "
                f"is one of {task}; name an estimator that predicts {kinds[task]}"
            )
        found = self.makers[task]
        known = {*signature(type(found)).parameters, *found.get_params()}
        key = next((name for name in _SEEDS if name in known), None)
        return found if key is None else found.set_params(**{key: seed})


def named_members(given: str | None) -> list[Member]:
    """Return the estimators of a comma-separated list of names and of classes as `module:Class`.

    Parameters
    ----------
    given : str or None

    Raises
    ------
    InputError
        If a package is not installed, or a class does not exist, is no estimator, or cannot be made
        without arguments.
    """
    if given is None:
        return []
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise InputError(f"--with names no estimator; {_CHOICES}")
    return [_member(name) for name in dict.fromkeys(names)]


def check_members(members: list[Member], learner: str, *, is_saved: bool) -> None:
    """Raise an `InputError` if there are members, and the learner takes none or is not saved.

    Parameters
    ----------
    members : list of Member
    learner : str
        Name of the method, or of the kind of target that has a method of its own.
    is_saved : bool
        Whether the model is to be saved.
    """
    if not members:
        return
    if learner != "stacking":
        raise InputError(
            f"--with adds members to the stack, and {learner} is none: leave out --with, or use "
            "--learner stacking with classes or numbers"
        )
    if is_saved and (names := unsaved(members)):
        raise InputError(
            f"--out cannot save {' or '.join(names)}: {WHY_UNSAVED}; leave out --out, or pickle a "
            f'stack that is fitted in Python with candidates=["default", {names[0]}()]'
        )


def weights_note(model: Pipeline, members: list[Member]) -> str:
    """Return a note on the weights of members in a fitted stack.

    Parameters
    ----------
    model : fitted TableModel
    members : list of Member
    """
    weights = {one.description: one.weight for one in model[-1].candidates_}
    task: Task = "classification" if is_classifier(model) else "regression"
    names = [type(one.makers[task]).__name__ for one in members]
    told = [f"{name} {weights[name]:.3f}" if name in weights else f"{name} none" for name in names]
    return f"weights in the stack, whose sum is 1: {', '.join(told)}"


WHY_UNSAVED = "files of models hold only estimators of mercer and a few of scikit-learn"
"""Why some members cannot be saved."""


def unsaved(members: list[Member]) -> list[str]:
    """Return the names of the classes that a file of a model may not hold.

    Parameters
    ----------
    members : list of Member
    """
    made = [estimator for one in members for estimator in one.makers.values()]
    return list(dict.fromkeys(type(one).__name__ for one in made if not _is_saved(one)))


def _is_saved(estimator: BaseEstimator) -> bool:
    """Return whether a file of a model may hold an estimator, which need not be fitted."""
    stack = KernelStackingClassifier(["default", estimator])
    with TemporaryDirectory() as folder:
        try:
            save(stack, Path(folder) / "model")
        except ValueError:
            return False
    return True


_CHOICES = f"choose from {', '.join(_NAMED)}, or name a class as module:Class"
"""What `--with` takes, for error messages."""


def _member(name: str) -> Member:
    """Make the estimators of one name."""
    if name in _NAMED:
        return Member(name, {task: _made(name, place) for task, place in _NAMED[name].items()})
    module, _, own = name.partition(":")
    if not (module and own):
        hint = did_you_mean(name, _NAMED)
        raise InputError(f"--with: there is no estimator '{shown(name)}'{hint}; {_CHOICES}")
    found = _made(name, name)
    kinds: dict[Task, Any] = {"classification": is_classifier, "regression": is_regressor}
    tasks: list[Task] = [task for task, is_one in kinds.items() if is_one(found)]
    if not tasks or not hasattr(found, "predict"):
        raise InputError(f"--with {name}: {own} is neither a classifier nor a regressor")
    return Member(name, dict.fromkeys(tasks, found))


def _made(name: str, place: str) -> BaseEstimator:
    """Import a class, and make an estimator of it."""
    module, _, own = place.partition(":")
    package = module.partition(".")[0]
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise InputError(f"--with {name}: {brief(error)}; install what it needs") from error
        if error.name == package:
            by = f"it with pip install {package}" if package in _NAMED else "what holds it"
            told = f"the package '{package}' is missing; install {by}"
        else:
            told = f"there is no module '{module}'"
        raise InputError(f"--with {name}: {told}") from error
    except Exception as error:
        raise InputError(f"--with {name}: cannot import {module} ({brief(error)})") from error
    found = getattr(imported, own, None)
    if found is None:
        hint = did_you_mean(own, dir(imported))
        raise InputError(f"--with {name}: {module} has no '{shown(own)}'{hint}")
    if not (isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "get_params")):
        raise InputError(f"--with {name}: {own} is no class of estimators")
    try:
        made: BaseEstimator = found(**_SETTINGS.get(package, {}))
    except Exception as error:
        raise InputError(
            f"--with {name}: {own} cannot be made without arguments ({brief(error)}); in Python, "
            f'candidates=["default", {own}(...)] takes it with them'
        ) from error
    return made
