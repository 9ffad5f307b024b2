"""Calls of scikit-learn on standard arrays.

https://scikit-learn.org/stable/modules/array_api.html lists what it supports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from side_by_side import Make, Row, rows_of
from sklearn import (
    calibration,
    cluster,
    config_context,
    decomposition,
    discriminant_analysis,
    kernel_approximation,
    linear_model,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    neighbors,
    pipeline,
    preprocessing,
    utils,
)
from sklearn.base import clone
from sklearn.metrics import pairwise

_rng = np.random.default_rng(3)
X = _rng.normal(size=(60, 5))
POSITIVE = np.abs(X)
TARGET = X @ np.arange(1.0, 6) + _rng.normal(size=60)
COUNTS = np.exp(0.3 * X[:, 0])
WEIGHTS = _rng.uniform(0.5, 2, 60)
TWO = (X[:, 0] + 0.3 * _rng.normal(size=60) > 0).astype(np.int64)
THREE = np.digitize(X[:, 1], [-0.5, 0.5])
TWO_GUESSED = np.where(np.arange(60) % 7 == 0, 1 - TWO, TWO)
THREE_GUESSED = np.where(np.arange(60) % 5 == 0, (THREE + 1) % 3, THREE)
SCORES = 1 / (1 + np.exp(-X[:, 0]))
THREE_SCORES = np.exp(X[:, :3]) / np.sum(np.exp(X[:, :3]), axis=1, keepdims=True)

UNSUPPORTED = (
    "not among what scikit-learn runs on arrays of the standard: "
    "https://scikit-learn.org/stable/modules/array_api.html"
)


def _fitted(
    estimator: Any, attributes: str, methods: str = "", x: Any = X, y: Any = None, **weights: Any
) -> Callable[[Make], Any]:
    """Return a call that fits an estimator and returns some attributes and predictions."""

    def call(make: Make) -> Any:
        model = clone(estimator)
        arrays = {key: make(value) for key, value in weights.items()}
        model.fit(make(x), None if y is None else make(y), **arrays)
        result = [getattr(model, name) for name in attributes.split()]
        return result + [getattr(model, name)(make(x)) for name in methods.split()]

    return call


def _pca(**options: Any) -> Any:
    return decomposition.PCA(3, random_state=0, **options)


def _lda(make: Make) -> Any:
    model = discriminant_analysis.LinearDiscriminantAnalysis().fit(make(X), make(THREE))
    # Axes have a sign that the singular value decomposition chooses.
    return model.coef_, model.means_, model.predict_proba(make(X)), abs(model.transform(make(X)))


def _inverse(scaler: Any) -> Callable[[Make], Any]:
    return lambda make: scaler.inverse_transform(scaler.fit_transform(make(X)))


def _labels(make: Make) -> Any:
    encoder = preprocessing.LabelEncoder()
    codes = encoder.fit_transform(make(THREE + 4))
    return codes, encoder.classes_, encoder.inverse_transform(codes)


def _binarized(make: Make) -> Any:
    encoder = preprocessing.LabelBinarizer()
    return encoder.fit_transform(make(THREE)), encoder.classes_


def _calibrated(make: Make) -> Any:
    model = calibration.CalibratedClassifierCV(
        discriminant_analysis.LinearDiscriminantAnalysis(), method="temperature", cv=3
    )
    return model.fit(make(X), make(THREE)).predict_proba(make(X))


def _pipeline(make: Make) -> Any:
    steps = preprocessing.StandardScaler(), _pca(svd_solver="full"), _ridge()
    return pipeline.make_pipeline(*steps).fit(make(X), make(TARGET)).predict(make(X))


def _union(make: Make) -> Any:
    parts = [("z", preprocessing.StandardScaler()), ("unit", preprocessing.MinMaxScaler())]
    return pipeline.FeatureUnion(parts).fit_transform(make(X))


def _searched(make: Make) -> Any:
    search = model_selection.GridSearchCV(_ridge(), {"alpha": [0.1, 1.0]}, cv=3)
    search.fit(make(X), make(TARGET))
    return search.best_score_, search.best_params_["alpha"], search.predict(make(X))


def _ridge() -> Any:
    return linear_model.Ridge(solver="svd")


ESTIMATORS = [
    Row("PCA full", _fitted(_pca(svd_solver="full"), "components_ mean_", "transform")),
    Row(
        "PCA covariance_eigh",
        _fitted(_pca(svd_solver="covariance_eigh"), "explained_variance_", "transform"),
    ),
    Row(
        "PCA randomized",
        _fitted(
            _pca(svd_solver="randomized", power_iteration_normalizer="QR"),
            "components_ noise_variance_",
            "transform score_samples",
        ),
    ),
    Row("PCA inverse_transform", _inverse(_pca(svd_solver="full"))),
    Row("Ridge", _fitted(_ridge(), "coef_ intercept_", "predict", y=TARGET)),
    Row("Ridge weighted", _fitted(_ridge(), "coef_", "predict", y=TARGET, sample_weight=WEIGHTS)),
    Row("RidgeCV", _fitted(linear_model.RidgeCV([0.1, 1.0]), "coef_ alpha_", "predict", y=TARGET)),
    Row(
        "RidgeClassifier",
        _fitted(
            linear_model.RidgeClassifier(solver="svd"),
            "coef_ classes_",
            "predict decision_function",
            y=THREE,
        ),
    ),
    Row(
        "RidgeClassifierCV",
        _fitted(linear_model.RidgeClassifierCV([0.1, 1.0]), "coef_", "predict", y=TWO),
    ),
    Row(
        "LogisticRegression",
        _fitted(
            linear_model.LogisticRegression(tol=1e-10, max_iter=1000),
            "coef_ intercept_ classes_",
            "predict predict_proba",
            y=THREE,
        ),
        rtol=1e-5,
    ),
    Row(
        "PoissonRegressor",
        _fitted(linear_model.PoissonRegressor(tol=1e-10), "coef_ intercept_", "predict", y=COUNTS),
        rtol=1e-5,
    ),
    Row("LinearDiscriminantAnalysis", _lda),
    Row(
        "GaussianNB",
        _fitted(naive_bayes.GaussianNB(), "theta_ var_ classes_", "predict_proba", y=THREE),
    ),
    Row(
        "GaussianMixture",
        _fitted(
            mixture.GaussianMixture(2, init_params="random", random_state=0, max_iter=9, tol=1e-12),
            "means_ weights_ covariances_",
            "predict score_samples",
        ),
        rtol=1e-6,
    ),
    Row(
        "GaussianMixture diagonal",
        _fitted(
            mixture.GaussianMixture(
                2,
                covariance_type="diag",
                init_params="random_from_data",
                random_state=0,
                max_iter=9,
                tol=1e-12,
            ),
            "means_ weights_ covariances_",
        ),
        rtol=1e-6,
    ),
    Row(
        "Nystroem",
        _fitted(
            kernel_approximation.Nystroem(n_components=5, random_state=0),
            "components_",
            "transform",
        ),
        rtol=1e-7,
    ),
    Row("StandardScaler", _fitted(preprocessing.StandardScaler(), "scale_ var_", "transform")),
    Row("MinMaxScaler", _fitted(preprocessing.MinMaxScaler(), "scale_ data_max_", "transform")),
    Row("MaxAbsScaler", _fitted(preprocessing.MaxAbsScaler(), "scale_", "transform")),
    Row("StandardScaler inverse_transform", _inverse(preprocessing.StandardScaler())),
    Row("MinMaxScaler inverse_transform", _inverse(preprocessing.MinMaxScaler())),
    Row("MaxAbsScaler inverse_transform", _inverse(preprocessing.MaxAbsScaler())),
    Row("Normalizer", _fitted(preprocessing.Normalizer(), "", "transform")),
    Row("Binarizer", _fitted(preprocessing.Binarizer(), "", "transform")),
    Row("KernelCenterer", _fitted(preprocessing.KernelCenterer(), "", "transform", x=X @ X.T)),
    Row("PolynomialFeatures", _fitted(preprocessing.PolynomialFeatures(2), "", "transform")),
    Row("LabelEncoder", _labels),
    Row("LabelBinarizer", _binarized),
    Row("CalibratedClassifierCV", _calibrated, rtol=1e-5),
    Row("make_pipeline", _pipeline),
    Row("FeatureUnion", _union),
    *rows_of(preprocessing, "minmax_scale maxabs_scale normalize binarize", [X]),
]

SELECTION = [
    Row(
        "train_test_split",
        lambda a: model_selection.train_test_split(a(X), a(THREE), random_state=0),
    ),
    Row(
        "train_test_split stratified",
        lambda a: model_selection.train_test_split(a(X), stratify=a(THREE), random_state=0),
    ),
    Row(
        "cross_val_predict",
        lambda a: model_selection.cross_val_predict(_ridge(), a(X), a(TARGET), cv=3),
    ),
    Row(
        "cross_val_score",
        lambda a: model_selection.cross_val_score(
            discriminant_analysis.LinearDiscriminantAnalysis(), a(X), a(TWO), cv=3, scoring="f1"
        ),
        to_numpy="scikit-learn collects scores, which are Python numbers",
    ),
    Row("GridSearchCV", _searched),
    Row("shuffle", lambda a: utils.shuffle(a(X), a(TWO), random_state=0)),
    Row("resample", lambda a: utils.resample(a(X), random_state=0)),
    Row("check_array", lambda a: utils.check_array(a(X))),
    Row("randomized_svd", lambda a: abs_svd(a(X)), rtol=1e-7),
    Row("softmax", lambda a: utils.extmath.softmax(a(X))),
]


def abs_svd(x: Any) -> Any:
    """Return the parts of a randomized decomposition; only the absolute values are unique."""
    u, s, vt = utils.extmath.randomized_svd(x, 3, power_iteration_normalizer="QR", random_state=0)
    return abs(u), s, abs(vt)


_OF_TWO = (
    "accuracy_score average_precision_score balanced_accuracy_score cohen_kappa_score "
    "confusion_matrix f1_score hamming_loss jaccard_score multilabel_confusion_matrix "
    "precision_score recall_score zero_one_loss precision_recall_fscore_support"
)
_OF_SCORES = (
    "roc_curve det_curve precision_recall_curve brier_score_loss log_loss d2_log_loss_score "
    "d2_brier_score"
)
_OF_NUMBERS = (
    "r2_score explained_variance_score max_error mean_absolute_error "
    "mean_absolute_percentage_error mean_pinball_loss mean_squared_error mean_squared_log_error "
    "median_absolute_error root_mean_squared_error root_mean_squared_log_error "
    "mean_poisson_deviance mean_gamma_deviance mean_tweedie_deviance d2_absolute_error_score "
    "d2_pinball_score d2_tweedie_score"
)


def _averaged(name: str) -> Row:
    return Row(
        f"{name} macro",
        lambda a: getattr(metrics, name)(a(THREE), a(THREE_GUESSED), average="macro"),
    )


def _weighted(name: str) -> Row:
    return Row(
        f"{name} weighted",
        lambda a: getattr(metrics, name)(a(THREE), a(THREE_GUESSED), sample_weight=a(WEIGHTS)),
    )


METRICS = [
    *rows_of(metrics, _OF_TWO, [TWO, TWO_GUESSED]),
    *rows_of(metrics, _OF_SCORES, [TWO, SCORES]),
    *rows_of(metrics, _OF_NUMBERS, [COUNTS, POSITIVE[:, 0] + 0.1]),
    *map(_averaged, ("f1_score", "precision_score", "recall_score", "jaccard_score")),
    *map(_weighted, ("accuracy_score", "confusion_matrix", "balanced_accuracy_score")),
    Row("log_loss of three", lambda a: metrics.log_loss(a(THREE), a(THREE_SCORES))),
    Row("fbeta_score", lambda a: metrics.fbeta_score(a(TWO), a(TWO_GUESSED), beta=2)),
    Row("r2_score raw", lambda a: metrics.r2_score(a(X), a(POSITIVE), multioutput="raw_values")),
    *rows_of(metrics, "calinski_harabasz_score davies_bouldin_score", [X, THREE]),
    *rows_of(metrics, "roc_auc_score", [TWO, SCORES], host=True),
    *rows_of(
        pairwise,
        "additive_chi2_kernel chi2_kernel cosine_similarity cosine_distances euclidean_distances "
        "manhattan_distances linear_kernel laplacian_kernel polynomial_kernel rbf_kernel "
        "sigmoid_kernel pairwise_kernels pairwise_distances pairwise_distances_argmin",
        [POSITIVE[:10], POSITIVE[10:25]],
    ),
    *rows_of(
        pairwise,
        "paired_cosine_distances paired_euclidean_distances paired_manhattan_distances",
        [X, POSITIVE],
    ),
]

BEYOND = [
    Row("KMeans", _fitted(cluster.KMeans(3, random_state=0), "labels_"), fails=UNSUPPORTED),
    Row(
        "LinearRegression",
        _fitted(linear_model.LinearRegression(), "coef_", y=TARGET),
        fails=UNSUPPORTED,
    ),
    Row(
        "GammaRegressor",
        _fitted(linear_model.GammaRegressor(), "coef_", y=COUNTS),
        fails=UNSUPPORTED,
    ),
    Row(
        "KNeighborsClassifier",
        _fitted(neighbors.KNeighborsClassifier(3), "", "predict", y=TWO),
        fails=UNSUPPORTED,
    ),
    *rows_of(metrics, "matthews_corrcoef", [TWO, TWO_GUESSED]),
    *rows_of(metrics, "silhouette_score", [X, THREE], host=True),
    *rows_of(preprocessing, "scale", [X], fails=UNSUPPORTED),
    *rows_of(preprocessing, "robust_scale", [X], host=True),
]


def _undispatched(call: Callable[[Make], Any]) -> Callable[[Make], Any]:
    """Return a call that runs without scikit-learn's dispatching."""

    def undispatched(make: Make) -> Any:
        with config_context(array_api_dispatch=False):
            return call(make)

    return undispatched


_READS = "without dispatch scikit-learn reads arrays with NumPy, and answers in NumPy's"
UNDISPATCHED = [
    Row(f"{name} without dispatch", _undispatched(call), host=True, to_numpy=_READS)
    for name, call in (
        ("KMeans", _fitted(cluster.KMeans(3, random_state=0), "labels_ cluster_centers_")),
        ("LinearRegression", _fitted(linear_model.LinearRegression(), "coef_", y=TARGET)),
        ("KNeighbors", _fitted(neighbors.KNeighborsClassifier(3), "", "predict_proba", y=TWO)),
        ("silhouette_score", lambda make: metrics.silhouette_score(make(X), make(THREE))),
        ("robust_scale", lambda make: preprocessing.robust_scale(make(X))),
    )
]

ROWS = [*ESTIMATORS, *SELECTION, *METRICS, *BEYOND, *UNDISPATCHED]
