"""The command `mercer demo`."""

from pathlib import Path

from mercer_command import options, output, streaming
from mercer_command.commands import preparation
from mercer_command.commands.compare_command import compare_methods
from mercer_command.commands.fit_command import learn
from mercer_command.division import splits
from mercer_command.problem import as_problem

DEMONSTRATED = ("stacking", "ca", "alignf", "uniform", "hsic", "cka", "grid")
"""The methods of the demonstration: one fast method of each kind."""


def run(given: options.Demo) -> None:
    """Compare methods on a data set of scikit-learn; see `mercer_command.options`."""
    from sklearn.datasets import load_breast_cancer

    preparation.check(given)
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.assign(diagnosis=bunch.target_names[bunch.target])
    problem = as_problem(frame, "diagnosis")
    rows = splits(problem, test_size=0.25, repeats=given.repeats, seed=0)
    compare_methods(
        problem, list(DEMONSTRATED), rows, options.Compare(Path("table.csv"), "diagnosis")
    )
    fitted = options.Fit(Path("table.csv"), "diagnosis", out=given.out, report=given.report)
    learn(streaming.Training(problem, *rows[0]), fitted, given)
    if given.report is None:
        output.print_line("The option --report demo.html writes a report with figures.")
