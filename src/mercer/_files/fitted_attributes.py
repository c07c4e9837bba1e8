"""Names of the attributes that fitted objects in saved models may have."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from inspect import signature
from typing import Any

_OF_MERCER = {
    "AlignmentMaximization": "is_psd_ kernel_ projection_ scale_",
    "BAHSIC": "hsic_ n_features_ n_iter_ ranking_ scores_",
    "BayesianMKL": "cholesky_ diagonal_ log_marginal_likelihood_ objective_history_ rows_ scale_",
    "BayesianMKLRegressor": "log_marginal_likelihood_ noise_variance_ y_mean_ y_scale_",
    "Circles": "cycles_ others_",
    "ClassesMixin": "classes_ _seen",
    "Classifier": "classes_ _labels",
    "ColumnReader": "columns_",
    "Compressed": "loss_ loss_std_ rows_per_center_ _function _is_flat",
    "ColumnConverter": "zones_",
    "CompressedClassifier": "classes_",
    "ContinuousAlignment": "scaler_ scaling_ width_penalty_",
    "ContinuousMKL": "excess_ _status",
    "DependenceSelector": "support_",
    "EvidenceMaximization": "log_marginal_likelihood_ noise_",
    "ForestKernel": "n_leaves_",
    "GeneralizedKernelMachine": (
        "X_fit_ alpha_ alphas_ candidates_ dual_coef_ kernel_ loo_deviance_ loo_deviances_ "
        "loo_predictions_ rows_ shares_ weights_ _held_out _unit"
    ),
    "GradientOuterProduct": "best_iter_ metric_",
    "HSICLasso": "alpha_ n_iter_ scores_ weights_",
    "HSICWeights": "hsic_",
    "Kernel": "_names",
    "KernelClusterer": (
        "X_fit_ alignment_ history_ kernel_ labels_ n_iter_ objective_ _assignment "
        "_labels_of_parts _parts"
    ),
    "KernelLearner": "X_fit_ alignment_ history_ kernel_ kernels_ n_iter_ scale_ shares_ weights_",
    "KernelLogisticRegression": "classes_ intercept_",
    "KernelMachines": "intercept_ support_",
    "KernelOptimization": "early_stopping_ objective_ width_penalty_ width_penalty_on_",
    "KernelOrdinalClassifier": "classes_ dual_coef_ thresholds_",
    "KernelPoissonRegressor": "dual_coef_ intercept_ loo_predictions_",
    "KernelStacking": (
        "candidates_ kernels_ relevance_ weights_ _combination _fall_back _left_out _members "
        "_sums _target _training _views"
    ),
    "KernelStackingClassifier": "classes_ _is_multilabel",
    "KernelStackingRegressor": "_one_output",
    "LeftOutPredictions": "_fits _found",
    "LetterCodes": "length_",
    "LocalDates": "zones_",
    "MachineClassifier": "temperature_ _held_out",
    "MultipleKernelClustering": "shares_ weights_",
    "OneStage": (
        "X_fit_ alignment_ dual_coef_ dual_gap_ history_ kernel_ n_iter_ objective_ shares_ "
        "weights_"
    ),
    "Regressor": "_is_response_flat",
    "SampleWeights": "values",
    "SoftClippingScaler": "center_ mean_ scale_ std_ thresholds_",
    "TableEncoder": "columns_ dates_ numbers_ reader_",
    "TableModel": "metric_",
    "TableReader": "ranges_ row_hashes_ spellings_ words_",
    "TableViews": "is_sparse _many _quantile_deviations _quantile_means _quantiles _scaler",
    "TextEncoder": "components_ idf_ terms_ tsvd_ vectorizer_",
    "TextScores": "coef_ idf_ intercept_ n_outputs_ terms_",
    "TwoStage": (
        "C_ alignment_ alpha_ candidates_ cv_correct_ cv_residuals_ cv_results_ history_ "
        "kernel_ learner_ n_iter_ predictor_ temperature_ weights_ _held_out _kept "
        "_residual_masses _sums"
    ),
    "TwoStageClassifier": "classes_",
    "UnitWeights": "_n_samples",
}
"""Fitted attributes that each class of mercer sets, other than those of its base classes."""

_OF_SKRUB = {
    "DatetimeEncoder": "all_outputs_ extracted_features_ _periodic_encoders",
    "StringEncoder": "all_outputs_ input_name_ n_components_ scaling_factor_ to_str",
    "TableVectorizer": (
        "all_outputs_ column_to_kind_ input_to_outputs_ kind_to_columns_ output_to_input_ "
        "transformers_ _specific_columns"
    ),
    "ToStr": "all_outputs_",
    "_CircularEncoder": "all_outputs_ input_name_ n_components_",
}
"""Fitted attributes that each class of skrub sets, of those that a saved model holds."""

_OF_SKLEARN = {
    "ARDRegression": "X_offset_ X_scale_ alpha_ coef_ lambda_ n_iter_ scores_ sigma_",
    "BaseEstimator": "feature_names_in_ n_features_in_ _sklearn_version",
    "BaseLibSVM": (
        "dual_coef_ fit_status_ intercept_ n_iter_ shape_fit_ support_ support_vectors_ "
        "_BaseLibSVM__Xfit _dual_coef_ _effective_probability _gamma _intercept_ _n_support "
        "_num_iter _probA _probB _sparse"
    ),
    "BaseSGD": (
        "coef_ intercept_ offset_ _average_coef _average_intercept _standard_coef "
        "_standard_intercept"
    ),
    "BaseSGDClassifier": (
        "classes_ coef_ intercept_ n_iter_ t_ _average_coef _average_intercept "
        "_expanded_class_weight _loss_function_ _standard_coef _standard_intercept"
    ),
    "BaseSGDRegressor": (
        "coef_ intercept_ n_iter_ t_ _average_coef _average_intercept _standard_intercept"
    ),
    "BaseSVC": "class_weight_ classes_",
    "BaseSearchCV": (
        "best_estimator_ best_index_ best_params_ best_score_ cv_results_ multimetric_ "
        "n_splits_ refit_time_ scorer_ _checked_cv_orig"
    ),
    "BaseSuccessiveHalving": (
        "max_resources_ min_resources_ n_candidates_ n_iterations_ n_possible_iterations_ "
        "n_remaining_candidates_ n_required_iterations_ n_resources_ _n_samples_orig"
    ),
    "BayesianRidge": "X_offset_ X_scale_ alpha_ coef_ lambda_ n_iter_ scores_ sigma_",
    "ColumnTransformer": (
        "output_indices_ sparse_output_ transformers_ _columns _remainder "
        "_transformer_to_input_indices _transformers_feature_names_out"
    ),
    "ElasticNet": "coef_ dual_gap_ n_iter_",
    "FeatureUnion": "_transformers_feature_names_out",
    "FixedThresholdClassifier": "estimator_",
    "HuberRegressor": "coef_ intercept_ n_iter_ outliers_ scale_",
    "KBinsDiscretizer": "bin_edges_ n_bins_ _encoder",
    "KNNImputer": "_fit_X _mask_fit_X _valid_mask",
    "KernelCenterer": "K_fit_all_ K_fit_rows_",
    "KernelRidge": "X_fit_ dual_coef_",
    "LabelBinarizer": "classes_ sparse_input_ y_type_",
    "LabelEncoder": "classes_",
    "Lars": "active_ alphas_ coef_ coef_path_ n_iter_",
    "LarsCV": "alpha_ cv_alphas_ mse_path_",
    "LassoLarsIC": "alpha_ alphas_ coef_ criterion_ fit_path n_iter_ noise_variance_",
    "LinearModel": "coef_ intercept_",
    "LinearModelCV": (
        "alpha_ alphas_ coef_ dual_gap_ intercept_ l1_ratio_ mse_path_ n_iter_ _alphas"
    ),
    "LinearRegression": "coef_ rank_ singular_",
    "LinearSVC": "classes_ coef_ intercept_ n_iter_",
    "LinearSVR": "coef_ intercept_ n_iter_",
    "LogisticRegression": "classes_ coef_ intercept_ n_iter_",
    "LogisticRegressionCV": (
        "C_ Cs_ classes_ coef_ coefs_paths_ intercept_ l1_ratio_ l1_ratios_ n_iter_ scores_"
    ),
    "MaxAbsScaler": "max_abs_ n_samples_seen_ scale_",
    "MinMaxScaler": "data_max_ data_min_ data_range_ min_ n_samples_seen_ scale_",
    "MissingIndicator": "features_ _n_features _precomputed",
    "MultiLabelBinarizer": "classes_ _cached_dict",
    "MultiTaskElasticNet": "coef_ dual_gap_ eps_ n_iter_",
    "MultiTaskLasso": "l1_ratio",
    "OneClassSVM": "offset_",
    "OneHotEncoder": "drop_idx_ _drop_idx_after_grouping _n_features_outs",
    "OrdinalEncoder": "_missing_indices",
    "OrthogonalMatchingPursuit": "coef_ n_iter_ n_nonzero_coefs_",
    "OrthogonalMatchingPursuitCV": "coef_ intercept_ n_iter_ n_nonzero_coefs_",
    "PolynomialFeatures": "n_output_features_ _max_degree _min_degree _n_out_full",
    "PowerTransformer": "lambdas_ _scaler",
    "PredefinedSplit": "unique_folds",
    "QuantileRegressor": "coef_ intercept_ n_iter_",
    "QuantileTransformer": "n_quantiles_ quantiles_ references_",
    "RANSACRegressor": (
        "estimator_ inlier_mask_ n_skips_invalid_data_ n_skips_invalid_model_ "
        "n_skips_no_inliers_ n_trials_"
    ),
    "RobustScaler": "center_ scale_",
    "SGDOneClassSVM": (
        "coef_ n_iter_ offset_ t_ _average_coef _average_intercept _loss_function_ "
        "_standard_intercept"
    ),
    "SimpleImputer": "statistics_ _fill_dtype _fit_dtype",
    "SparseCoefMixin": "coef_",
    "SplineTransformer": "bsplines_ n_features_out_",
    "StandardScaler": "mean_ n_samples_seen_ scale_ var_",
    "TargetEncoder": "classes_ encodings_ target_mean_ target_type_",
    "TheilSenRegressor": "breakdown_ coef_ intercept_ n_iter_ n_subpopulation_",
    "TransformedTargetRegressor": "regressor_ transformer_ _training_dim",
    "TunedThresholdClassifierCV": (
        "best_score_ best_threshold_ cv_results_ estimator_ _curve_scorer"
    ),
    "_BaseEncoder": (
        "categories_ _default_to_infrequent_mappings _infrequent_enabled _infrequent_indices"
    ),
    "_BaseImputer": "indicator_",
    "_BaseRidge": "coef_ intercept_ n_iter_ solver_",
    "_BaseRidgeCV": "alpha_ best_score_ coef_ cv_results_ intercept_",
    "_GeneralizedLinearRegressor": "coef_ intercept_ n_iter_ _base_loss",
    "_PassthroughScorer": "_estimator",
    "_RidgeClassifierMixin": "classes_ _label_binarizer",
    "_SetOutputMixin": "_sklearn_output_config",
}
"""Fitted attributes that each class of scikit-learn sets, in all supported versions."""

_OF_LIBRARIES = {"sklearn": _OF_SKLEARN, "skrub": _OF_SKRUB}


@cache
def known_attributes(kind: type) -> frozenset[str]:
    """Return the names of the attributes that objects of a class may have.

    Parameters
    ----------
    kind : type
        A class of mercer, of its command, of scikit-learn or of skrub.

    Returns
    -------
    frozenset of str
        Parameters, cached properties and fitted attributes of the class and its base classes.
    """
    found = set[str]()
    for base in kind.__mro__[:-1]:
        listed = _OF_LIBRARIES.get(base.__module__.partition(".")[0], _OF_MERCER)
        found.update(listed.get(base.__name__, "").split())
        found.update(_parameters(base))
        found.update(name for name, of in vars(base).items() if isinstance(of, cached_property))
    return frozenset(found)


def _parameters(kind: Any) -> Iterable[str]:
    """Return the names of the parameters of an estimator, or the fields of a dataclass."""
    if hasattr(kind, "_get_param_names"):
        return kind._get_param_names()
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return () if kind.__init__ is object.__init__ else list(signature(kind.__init__).parameters)[1:]
