"""Stacks and two-stage estimators as models of TabArena, so that others can run them there.

    python -m benchmarks.tabarena --output results            # one split of each table
    python -m benchmarks.tabarena --output results --full     # all of its splits

TabArena (Erickson et al. 2025, arXiv:2506.16791; https://tabarena.ai) runs subclasses of
AutoGluon's `AbstractModel`. Both packages, which are no dependencies of mercer, have to be
installed, and the tables come from OpenML. Run it as a module, from the root of the repository:
models are pickled by the name of this module. The tests try the classes on a stand-in of the
interface.

Columns of numbers, truth values and categories go to `mercer.preprocessing.table_encoder`. There is
nothing to tune, so that each method has one configuration. A limit of time is not observed.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd
from autogluon.core.models import AbstractModel
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.preprocessing import table_encoder

RAW_TYPES = ["bool", "int", "float", "category"]
"""Types of columns that reach the model, in AutoGluon's terms; it turns text into categories."""


class KernelStackingModel(AbstractModel):
    """A stack of kernels after `table_encoder`.

    Hyperparameters are those of `KernelStackingClassifier` or of `KernelStackingRegressor`.
    """

    ag_key = "MERCER_STACK"
    ag_name = "MercerStacking"
    estimators: Any = (KernelStackingClassifier, KernelStackingRegressor)

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        sample_weight: Any = None,
        num_cpus: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        """Fit the estimator that suits the problem, on at most `num_cpus` threads."""
        classifier, regressor = self.estimators
        kind = regressor if self.problem_type == "regression" else classifier
        estimator = kind(**self._get_model_params())
        step = type(estimator).__name__.lower()
        model = make_pipeline(table_encoder(), estimator)
        weights = {} if sample_weight is None else {f"{step}__sample_weight": sample_weight}
        with threadpool_limits(num_cpus if isinstance(num_cpus, int) else None):
            self.model = model.fit(self.preprocess(X), y, **weights)

    @classmethod
    def supported_problem_types(cls) -> list[str]:
        """What AutoGluon calls the tasks."""
        return ["binary", "multiclass", "regression"]

    def _set_default_params(self) -> None:
        self._set_default_param_value("random_state", 0)

    def _get_default_auxiliary_params(self) -> dict[str, Any]:
        return {**super()._get_default_auxiliary_params(), "valid_raw_types": RAW_TYPES}


class TwoStageModel(KernelStackingModel):
    """One kernel and one width after `table_encoder`.

    Hyperparameters are those of `TwoStageClassifier` or of `TwoStageRegressor`.
    """

    ag_key = "MERCER_TWO_STAGE"
    ag_name = "MercerTwoStage"
    estimators = (TwoStageClassifier, TwoStageRegressor)


def main() -> None:
    """Run both models on the tables of TabArena-v0.1."""
    import openml
    from tabarena.benchmark.experiment import run_experiments_new
    from tabarena.utils.config_utils import ConfigGenerator

    from benchmarks import tabarena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, help="folder of the results")
    parser.add_argument("--full", action="store_true", help="all splits, not one of each table")
    given = parser.parse_args()
    experiments = []
    for model in (tabarena.KernelStackingModel, tabarena.TwoStageModel):
        configurations = ConfigGenerator(model_cls=model, manual_configs=[{}], search_space={})
        experiments += configurations.generate_all_bag_experiments(
            num_random_configs=0, fold_fitting_strategy="sequential_local"
        )
    run_experiments_new(
        output_dir=given.output,
        model_experiments=experiments,
        tasks=openml.study.get_suite("tabarena-v0.1").tasks,
        repetitions_mode="TabArena" if given.full else "TabArena-Lite",
    )


if __name__ == "__main__":
    main()
