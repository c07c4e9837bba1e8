"""Times of one Gaussian kernel by HSIC, alignment or cross-validation: Wang & Li (2018)."""

from __future__ import annotations

from experiments.c_search import seconds
from experiments.definitions.dependence import ARD_SUFFIX, CRITERIA, Criterion, learner
from experiments.experiment import Experiment, Measures, Method
from experiments.halves import GAMMAS, Halves, machine_of_gram, machine_of_grid, problems

QUICK = 0.5
"""Learning that takes fewer seconds is timed three times, and the least time is kept."""


def two_steps(criterion: Criterion, *, ard: bool = False) -> Method:
    """Return a method that takes the seconds of learning a kernel, and of the search for C."""

    def measure(data: Halves) -> Measures:
        X, y = data.train
        model = learner(criterion, ard=ard)
        learning = seconds(lambda: model.fit(X, y))
        if learning < QUICK:
            learning = min(learning, *(seconds(lambda: model.fit(X, y)) for _ in range(2)))
        search = seconds(lambda: machine_of_gram(model.transform(X), y))
        return {
            "seconds": learning + search,
            "seconds_learning": learning,
            "iterations": model.n_iter_,
        }

    return measure


def cross_validation(small: bool) -> Method:
    """Return a method that takes the seconds of the grid search over width and C."""
    gammas = GAMMAS[::6] if small else GAMMAS

    def measure(data: Halves) -> Measures:
        return {"seconds": seconds(lambda: machine_of_grid(*data.train, gammas=gammas))}

    return measure


def experiment(small: bool) -> Experiment:
    """Declare the times on one split of each set, each run alone."""
    drawn = problems(small)
    methods: dict[str, Method] = {"CV": cross_validation(small)}
    for name, criterion in CRITERIA.items():
        methods[name] = two_steps(criterion)
        methods[name + ARD_SUFFIX] = two_steps(criterion, ard=True)
    return Experiment(
        title="Seconds to the kernel of the largest dependence",
        source="Wang & Li (2018), section 4, Tables 3 and 5, Figure 2",
        problems=drawn,
        methods=methods,
        repeats=1 if small else 0,
        timed=5,
    )
