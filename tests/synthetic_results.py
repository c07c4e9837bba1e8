"""Records of experiments that never ran, with values that a test chooses."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.experiment import Experiment, Run
from experiments.reporting.results import Results
from experiments.running import Record

Values = Mapping[str, Sequence[Any]]
"""Values of each measure, one for each repeat."""


def synthetic_results(measured: Mapping[str, Mapping[str, Values]]) -> Results:
    """Return results with the values that are given for each problem, method and measure."""
    problems = dict.fromkeys(measured, lambda repeat: repeat)
    methods = dict.fromkeys(
        (method for by_method in measured.values() for method in by_method), lambda data: {}
    )
    records = [
        Record(Run("synthetic", problem, method, repeat), measures, False, 1.0, 1.0)
        for problem, by_method in measured.items()
        for method, values in by_method.items()
        for repeat, measures in enumerate(by_repeat(values))
    ]
    return Results.of(Experiment("A title", "a source", problems, methods), records)


def by_repeat(values: Values) -> list[dict[str, Any]]:
    """Return the measures of each repeat; a measure may have fewer repeats than another."""
    n_repeats = max(map(len, values.values()))
    return [
        {name: entries[repeat] for name, entries in values.items() if repeat < len(entries)}
        for repeat in range(n_repeats)
    ]


def errors_of_tasks(errors: Mapping[str, Sequence[float]], n_repeats: int = 2) -> Results:
    """Return results in which a method has an error, the same in each repeat, on each task."""
    n_tasks = max(map(len, errors.values()))
    return synthetic_results(
        {
            f"task {task}": {
                method: {"error": [values[task]] * n_repeats}
                for method, values in errors.items()
                if task < len(values)
            }
            for task in range(n_tasks)
        }
    )


def split_measures(errors: Sequence[float], **others: float) -> Values:
    """Return measures of some splits with 400 training and 600 test rows."""
    given = {"n_test": 600.0, "fit_seconds": 1.0} | others
    return {"error": errors, **{name: [value] * len(errors) for name, value in given.items()}}
