"""LightGBM, XGBoost and CatBoost: their labels, queries and evaluation sets."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from .._typing import Floats, Ints
from .._validation import choice
from ..collection.columns import NOT_ASPECTS, RUN_QUERY_COLUMNS, is_numeric
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, choices, number_of, warn, warn_once
from ..integration.parsing import MeasureLike
from .arrays import label_frame
from .labels import MOST_LEVELS, gain_levels
from .queries import require_queries
from .rows import EvaluatedMeasure, LabelledRows, RowRankings, warn_if_constant, warn_of_single_rows

_LIBRARIES = ("lightgbm", "xgboost", "catboost")

#: Arguments of their fit methods that are neither rows nor parameters.
LIBRARY_OPTIONS = (
    "callbacks", "cat_features", "categorical_feature", "embedding_features", "text_features", "init_model",
    "xgb_model",
)  # fmt: skip

#: Names of the parameter for the number of rounds without improvement, and the default of this package.
_PATIENCE = ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change", "od_wait")
_DEFAULT_PATIENCE = 50


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def warn_of_classes(model: Any, remedy: str = "") -> None:
    """Warn about a fitted classifier, as most rows of a query have the same predicted class."""
    classes = getattr(last_step(model), "classes_", None)
    if classes is not None and len(classes):
        name = type(last_step(model)).__name__
        warn_once(
            f"{name} is a classifier, whose few distinct predictions rank with many ties: take a ranker or a "
            f"regressor{remedy}",
            key=f"{name} predicts classes",
        )


def query_parameter(estimator: Any) -> str | None:
    """Return the parameter of fit for queries: group sizes, or one id per row."""
    parameters = inspect.signature(last_step(estimator).fit).parameters
    return next((name for name in ("qid", "group_id", "group") if name in parameters), None)


def boosting_library(estimator: Any) -> str | None:
    """Return the boosting library of an estimator, or None."""
    modules = {cls.__module__.partition(".")[0] for cls in type(estimator).__mro__}
    return next((name for name in _LIBRARIES if name in modules), None)


def objective_labels(estimator: Any, gains: list[Floats]) -> list[NDArray[Any]]:
    """Return gains as labels for the objective of a learner, after setting its parameters."""
    library = boosting_library(estimator)
    if library not in ("lightgbm", "xgboost") or query_parameter(estimator) is None:
        return list(gains)
    params = estimator.get_params()
    if library == "xgboost":
        if params.get("ndcg_exp_gain"):
            raise MultiAspectError(
                "ndcg_exp_gain=True would learn the gains 2^gain - 1; leave it unset, or choose a target with "
                "these gains, as in TOMA(weighting='exponential')"
            )
        estimator.set_params(ndcg_exp_gain=False)
        return list(gains)
    if params.get("label_gain") is not None:
        raise MultiAspectError(
            "label_gain: AspectRanker sets the gains that the target sums; leave it unset, or choose a target with "
            "other gains, as in TOMA(weighting='exponential')"
        )
    objective = params.get("objective") or "lambdarank"
    if objective not in ("lambdarank", "rank_xendcg"):
        return list(gains)
    # The objective rank_xendcg supports only the gains 2^level - 1, so it gets levels of the gains.
    codes, level_gains = gain_levels(np.concatenate(gains), None if objective == "lambdarank" else MOST_LEVELS)
    if objective == "lambdarank":
        estimator.set_params(label_gain=level_gains)
    return np.split(codes.astype(np.int64), np.cumsum([len(part) for part in gains])[:-1])


class Evaluation:
    """The values of a measure on evaluation sets in each iteration, as a metric of LightGBM and CatBoost.

    Parameters
    ----------
    measure : Measure
        The measure.
    sets : sequence of LabelledRows
        The evaluation sets. Early stopping follows the last one.
    """

    def __init__(self, measure: Any, sets: Sequence[LabelledRows]) -> None:
        self.measure, self.sets = measure, list(sets)
        # XGBoost splits its logs at colons, and LightGBM < 4.6 splits names at blanks.
        self.name = self.__name__ = "".join(str(measure).split()).replace(":", "=")
        self.maximize = not measure.lower_is_better
        self.history: list[list[float]] = [[] for _ in sets]
        #: CatBoost's sets, in the order of their first calls, and the set of the previous call.
        self._positions: dict[tuple[int | None, bytes], int] = {}
        self._previous: int | None = None
        self._rankings: RowRankings | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Models keep the metric, but do not need its data.
        return {**self.__dict__, "_rankings": None}

    def __deepcopy__(self, memo: object) -> Evaluation:
        # CatBoost copies its parameters before it trains, and scikit-learn's clone requires the same objects.
        self._positions, self._previous = {}, None
        return self

    def evaluate_set(self, scores: Any, index: int) -> float:
        """Return the value for predictions of a set, and record it."""
        rows = self.sets[index]
        rankings = rows.rankings(scores)
        value = rows.evaluate(self.measure, rankings)
        self.history[index].append(value)
        if index == len(self.sets) - 1 and self.is_best:
            self._rankings = rankings
        return value

    @property
    def best(self) -> int:
        """The index of the first of the best values on the last set."""
        return int(np.argmax(self.history[-1]) if self.maximize else np.argmin(self.history[-1]))

    @property
    def is_best(self) -> bool:
        """Whether the last value on the last set is better than all before."""
        return self.best == len(self.history[-1]) - 1

    def is_stale(self, patience: int) -> bool:
        """Return whether there was no improvement in the last `patience` values on the last set."""
        return len(self.history[-1]) - 1 - self.best >= patience

    def close(self) -> None:
        """Warn if the best predictions are constant within queries, and release the data."""
        if self._rankings is not None:
            warn_if_constant(self._rankings, self.name)
        self.sets, self._positions, self._rankings = [], {}, None

    # -- LightGBM ------------------------------------------------------------------------------------

    def __call__(self, labels: Any, scores: Any) -> Any:
        """Return name, value and direction for LightGBM, which evaluates the sets one after the other."""
        index = int(np.argmin([len(values) for values in self.history]))
        return self.name, self.evaluate_set(scores, index), self.maximize

    # -- CatBoost ------------------------------------------------------------------------------------

    def _position(self, target: Any) -> int:
        """Return the set of a call: 0 for the training set, which is evaluated first, then the evaluation sets.

        Sets differ in their labels, or in the place of CatBoost's array of them. The order of calls alone does not
        tell them apart: with ``metric_period``, the last set is evaluated more often than others.
        """
        labels = np.asarray(target, dtype=np.float32).tobytes()
        is_view = isinstance(target, np.ndarray) and not target.flags.owndata
        key = (target.ctypes.data if is_view else None), labels
        if not is_view and self._previous == 0 == self._positions.get(key):
            key = 0, labels  # the training set is not evaluated twice in a row
        self._previous = self._positions.setdefault(key, len(self._positions))
        return self._previous

    def is_max_optimal(self) -> bool:
        """Return whether higher values are better."""
        return self.maximize

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the value; the weight is ignored."""
        return error

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the value and weight for CatBoost, which evaluates the training set first (value 0)."""
        (scores,) = approxes
        position = self._position(target)
        return (self.evaluate_set(scores, position - 1) if position else 0.0), 1.0


class LibraryMetric(Evaluation):
    """A measure on the rows of a validation set, as a metric of a library's own interface.

    Parameters
    ----------
    library : {'lightgbm', 'xgboost', 'catboost'}
        The library.
    measure : Measure
        The measure.
    rows : LabelledRows
        The rows of the validation set, or for ``lgb.cv`` of the whole set.
    labels : DataFrame
        The columns on which the library's labels may depend.
    """

    def __init__(self, library: str, measure: Any, rows: LabelledRows, labels: pd.DataFrame) -> None:
        super().__init__(measure, [])
        self._library, self._all, self._columns = library, rows, labels
        #: The labels of the library for each part of the rows that was evaluated, and the sets with these rows.
        self._passed: dict[bytes, NDArray[Any]] = {}
        self._known: dict[tuple[bytes, int], int] = {}

    def early_stopping(self, rounds: int, **options: Any) -> Any:
        """Create the library's callback for early stopping by this metric.

        Parameters
        ----------
        rounds : int
            The number of rounds without improvement after which training stops.
        **options
            Other arguments of ``lightgbm.early_stopping`` or ``xgboost.callback.EarlyStopping``.

        Returns
        -------
        callable
            The callback. That of XGBoost has ``maximize`` set: by default, XGBoost minimises metrics whose names
            it does not know.

        Raises
        ------
        MultiAspectError
            For CatBoost, which has no such callback.
        """
        if self._library == "lightgbm":
            import lightgbm

            return lightgbm.early_stopping(rounds, **options)
        if self._library == "xgboost":
            import xgboost

            return xgboost.callback.EarlyStopping(
                rounds=rounds, metric_name=self.name, maximize=self.maximize, **options
            )
        raise MultiAspectError(
            f"early_stopping: CatBoost has no callback for it; pass early_stopping_rounds={rounds} to fit"
        )

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> Any:
        """Return name, value and direction for LightGBM, or name and value for XGBoost.

        LightGBM's estimators pass (labels, predictions, weights, group sizes); ``lgb.train``, ``lgb.cv`` and
        ``xgb.train`` pass (predictions, data).
        """
        if not hasattr(second, "get_label"):
            if self._library == "xgboost":
                raise MultiAspectError(
                    f"metric {self.name}: XGBoost's estimators evaluate a metric query by query, and minimise it; "
                    "pass the measure to AspectRanker, or the metric to xgb.train(custom_metric=…)"
                )
            return self.name, self._evaluate_rows(second, first, group), self.maximize
        labels = second.get_label()
        if hasattr(second, "num_row"):  # XGBoost
            return self.name, self._evaluate_rows(first, labels, np.diff(second.get_uint_info("group_ptr")))
        subset = getattr(second, "used_indices", None)
        part = subset if subset is not None and second.reference.num_data() == len(self._all) else None
        return self.name, self._evaluate_rows(first, labels, second.get_group(), part), self.maximize

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the value and weight for CatBoost, which evaluates the training set first (value 0)."""
        (scores,) = approxes
        is_repeated, position = bool(self._positions), self._position(target)
        if position and len(scores) == len(self._all):
            return self._evaluate_rows(scores, target, None, position=position), 1.0
        sizes = [len(labels) // 4 for _, labels in [*self._positions][1:]]
        if is_repeated and not position and len(self._all) not in sizes:
            raise MultiAspectError(
                f"metric {self.name}: expected an evaluation set of {len(self._all)} rows, those of y, got "
                f"{choices(sizes)}; pass the validation set as eval_set to fit"
            )
        return 0.0, 1.0

    def _evaluate_rows(self, scores: Any, labels: Any, sizes: Any, part: Any = None, *, position: int = 0) -> float:
        """Return the value for predictions of all rows or a part of them, after checking that these are the rows.

        Parameters
        ----------
        scores, labels : array-like
            The predictions and the labels of the library.
        sizes : array-like, optional
            The sizes of the library's groups; none if it has no groups.
        part : sequence of int, optional
            The rows of a fold of ``lgb.cv``.
        position : int, default 0
            The number of CatBoost's evaluation set.
        """
        labels = np.asarray(labels)
        kept = np.arange(len(self._all)) if part is None else np.asarray(part, dtype=np.intp)
        if len(scores) != len(kept):
            raise MultiAspectError(
                f"metric {self.name}: expected predictions for its validation set of {len(kept)} rows, "
                f"got {len(scores)}; evaluate on that set only, not on the training set"
                + (
                    ", and not in xgb.cv, which does not tell which rows are in a fold: pass an AspectRanker to "
                    "scikit-learn's cross_validate"
                    if self._library == "xgboost"
                    else ""
                )
            )
        key = kept.tobytes()
        if (key, position) not in self._known:
            rows = self._all if part is None else self._take(kept)
            if key not in self._passed:
                self._check_groups(rows, sizes)
                self._check_labels(rows, self._columns.iloc[kept], labels)
                self._passed[key] = np.array(labels)
            self._known[key, position] = len(self.sets)
            self.sets.append(rows)
            self.history.append([])
        index = self._known[key, position]
        if not np.array_equal(self._passed[key], labels):
            raise MultiAspectError(
                f"metric {self.name}: expected the predictions for one validation set, got those for two sets with "
                "different labels; pass the validation set only, not the training set"
            )
        return self.evaluate_set(scores, index)

    def _take(self, kept: Ints) -> LabelledRows:
        """Return the rows of a fold, on the scales of all rows."""
        queries = self._all.queries
        divided = set(queries[kept]) & set(np.delete(queries, kept))
        if divided:
            raise MultiAspectError(
                f"metric {self.name}: expected folds of whole queries, got {number_of(len(divided), 'query')}, "
                f"such as {min(divided)}, divided between folds; pass the queries as group= of lgb.Dataset, or "
                "folds= of whole queries"
            )
        return self._all.take(kept)

    def _check_groups(self, rows: LabelledRows, sizes: Any) -> None:
        """Raise an error if the groups of the library are not the queries of the rows, in their order."""
        if sizes is None or not len(sizes):
            return
        queries = rows.queries
        begins = np.flatnonzero(np.append(True, queries[1:] != queries[:-1]))
        expected = np.diff(np.append(begins, len(queries)))
        for group, (known, size) in enumerate(zip_longest(expected.tolist(), sizes)):
            if known != size:
                in_y = "no rows" if known is None else f"{known} rows of query {queries[begins[group]]}"
                in_set = "none" if size is None else size
                raise MultiAspectError(
                    f"metric {self.name}: expected the groups of one validation set, which are the queries of y: "
                    f"group {group} (counted from 0) has {in_y} in y, but {in_set} in the set. Pass y and qid in "
                    "the order of the rows of the set, sorted by query, and the validation set only"
                )

    def _check_labels(self, rows: LabelledRows, columns: pd.DataFrame, labels: NDArray[Any]) -> None:
        """Raise an error if rows of a query with equal labels in y have different labels in the library."""
        queries = rows.queries
        keys = [queries, *(columns[name].to_numpy() for name in columns)]
        kind = pd.DataFrame(dict(enumerate(keys))).groupby(list(range(len(keys))), dropna=False).ngroup().to_numpy()
        _, first = np.unique(kind, return_index=True)
        wrong = np.flatnonzero(labels != labels[first][kind])
        if not len(wrong):
            return
        row, other = int(wrong[0]), int(first[kind[wrong[0]]])
        raise MultiAspectError(
            f"metric {self.name}: expected the labels of one validation set, made from y: rows {other} and {row} "
            f"(counted from 0) of query {queries[row]} have equal labels in y, but {labels[other]:g} and "
            f"{labels[row]:g} in the set. Pass y and qid in the order of the rows of the set, and the validation "
            "set only. If its labels are made from more than y, add that as a column to y, and select with aspects="
        )


def metric_for(
    library: str,
    measure: MeasureLike,
    y: object,
    qid: object = None,
    *,
    aspects: object = None,
    missing: str = "error",
    qrels: object = None,
) -> Any:
    """Create an evaluation metric for a boosting library's own interface from a measure.

    `AspectRanker` does not require it: pass it `measure` and an evaluation set. Use this function with
    ``lgb.train``, ``xgb.train``, ``pt.ltr`` or a plain ranker.

    Parameters
    ----------
    library : {'lightgbm', 'xgboost', 'catboost'}
        The library. LightGBM: ``LGBMRanker.fit(eval_metric=...)``, ``lgb.train(feval=...)`` or
        ``lgb.cv(feval=...)``, with the parameter ``metric="None"``. XGBoost: ``xgb.train(custom_metric=metric,
        callbacks=[metric.early_stopping(rounds)])`` with the parameter ``disable_default_eval_metric=True``;
        without that callback or ``maximize=metric.maximize``, XGBoost would stop at the minimum. It cannot be used
        in XGBoost's estimators, which evaluate query by query, nor in ``xgb.cv``, whose folds do not tell their
        rows.
        CatBoost: ``CatBoostRanker(eval_metric=...)``; the value on the training set is 0.
    measure : ir_measures.Measure or str
        The measure, as in `ranking_scorer`.
    y : DataFrame or array-like of shape (n_rows, n_aspects)
        The labels of the validation rows, in the order in which they are passed to the library; for ``lgb.cv``, of
        all rows. If the library's labels are made from further columns, they must be in `y`, too.
    qid : array-like of shape (n_rows,), optional
        The query of each validation row. By default, the index level or column ``qid`` of `y`.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names (and declared scales) of the columns of an array, or the columns to select from a frame.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments, optional
        All judgments of the queries, as in `evaluate`, also of documents without a row. Ideal rankings and numbers
        of relevant documents are then those of the qrels; by default, they are those of the rows of each query.
        y needs an index level or a column docno.

    Returns
    -------
    callable
        The metric of this validation set. Its attributes are ``name``, as in the library's logs, ``maximize``, and
        ``history``, a list with the list of values (in ``lgb.cv``, one list per fold; with CatBoost, one per
        evaluation set with these labels, of which the last one stops the training). The method
        ``early_stopping(rounds)`` creates the library's callback. Ties are treated as in `ranking_scorer`.

    Raises
    ------
    MultiAspectError
        If queries or labels are missing, a document has several rows for a query (if `y` has a docno), or labels
        differ from those of `qrels`. When called: for predictions with another number of rows, or of two sets; if
        the library's groups are not the queries of `y` in their order; if rows of a query with equal labels in `y`
        have different labels in the library; if CatBoost has no evaluation set of these rows.

    Warns
    -----
    MultiAspectWarning
        If every query has one row.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels, aspects = [[2, 0], [0, 2]], {"relevance": 2, "credibility": 2}
    >>> metric = ma.metric_for("lightgbm", "CAM@10", labels, ["q", "q"], aspects=aspects)
    >>> name, value, greater_is_better = metric([2, 0], [0.3, 0.1])
    >>> round(value, 4), greater_is_better
    (0.8155, True)
    """
    choice("library", *_LIBRARIES)(library)
    evaluated = EvaluatedMeasure(measure, aspects, missing, qrels)
    rows = evaluated.rows(y, require_queries("metric_for", y, None, qid))
    warn_of_single_rows(rows.judgments, "metric_for")
    columns = rows.frame if to_pandas(y) is None else label_frame(y).reset_index(drop=True)
    others = {*NOT_ASPECTS, "score", "rank"}  # of a run, from which no label is made
    names = [name for name in columns if name not in others and is_numeric(columns[name])]
    return LibraryMetric(library, evaluated.bind(rows), rows, columns[names])


# -- fitting with evaluation sets --------------------------------------------------------------------


class _Stopping:
    """LightGBM's callback for early stopping by the last evaluation set."""

    def __init__(self, evaluation: Evaluation, patience: int) -> None:
        self.evaluation, self.patience = evaluation, patience
        self._best: Any = None

    def __call__(self, env: Any) -> None:
        from lightgbm.callback import EarlyStopException

        if self.evaluation.is_best:
            self._best = env.iteration, env.evaluation_result_list
        if self.evaluation.is_stale(self.patience) or env.iteration == env.end_iteration - 1:
            raise EarlyStopException(*self._best)


def _patience(params: dict[str, Any]) -> int:
    return int(next((params[name] for name in _PATIENCE if params.get(name) is not None), _DEFAULT_PATIENCE))


def fit_with_evaluation(
    estimator: Any,
    X: Any,
    label: NDArray[Any],
    passed: dict[str, Any],
    sets: list[tuple[Any, NDArray[Any], Ints]],
    evaluation: Evaluation,
) -> int:
    """Fit an estimator of a boosting library with early stopping, and return the number of iterations used.

    Parameters
    ----------
    estimator : estimator
        A ranker or regressor of LightGBM, XGBoost or CatBoost.
    X, label : array-like
        The training rows.
    passed : dict
        Other arguments of fit.
    sets : list of tuples
        The features, labels and queries (as codes, in order) of the evaluation sets.
    evaluation : Evaluation
        The measure on these sets.
    """
    fitting = {"lightgbm": _fit_lightgbm, "xgboost": _fit_xgboost, "catboost": _fit_catboost}
    iterations = fitting[str(boosting_library(estimator))](estimator, X, label, passed, sets, evaluation)
    evaluation.close()
    return iterations


def _fit_lightgbm(estimator: Any, X: Any, label: Any, passed: Any, sets: Any, evaluation: Evaluation) -> int:
    params, parameters = estimator.get_params(), inspect.signature(estimator.fit).parameters
    features, labels, queries = (list(column) for column in zip(*sets, strict=True))
    if "eval_X" in parameters:
        passed |= {"eval_X": tuple(features), "eval_y": tuple(labels)}
    else:
        passed["eval_set"] = list(zip(features, labels, strict=True))
    if "eval_group" in parameters:
        passed["eval_group"] = [np.bincount(codes) for codes in queries]
    callbacks = list(passed.pop("callbacks", None) or ())
    if "dart" not in (params.get("boosting_type"), params.get("boosting")):  # the trees change afterwards
        callbacks.append(_Stopping(evaluation, _patience(params)))
    estimator.set_params(metric="None", **{name: None for name in _PATIENCE if name in params})
    estimator.fit(X, label, eval_metric=evaluation, callbacks=callbacks, **passed)
    return int(estimator.best_iteration_) or len(evaluation.history[-1])


def _fit_xgboost(estimator: Any, X: Any, label: Any, passed: Any, sets: Any, evaluation: Evaluation) -> int:
    import xgboost

    params = estimator.get_params()
    matrices = [
        xgboost.DMatrix(features, missing=estimator.missing, enable_categorical=True) for features, _, _ in sets
    ]
    patience = _patience(params)

    # The rounds of gblinear cannot be left out of predictions, and later rounds of dart change earlier trees.
    is_changed = params.get("booster") in ("gblinear", "dart")
    best: list[Any] = []

    class Stopping(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            for index, matrix in enumerate(matrices):
                evaluation.evaluate_set(model.predict(matrix), index)
            if evaluation.is_best:
                model.set_attr(best_iteration=str(epoch), best_score=str(evaluation.history[-1][-1]))
                if is_changed:
                    best[:] = [model.save_raw()]
            return evaluation.is_stale(patience)

    callbacks = params.get("callbacks")
    # The scikit-learn interface evaluates a metric query by query, and would stop by its own default metric.
    estimator.set_params(callbacks=[*(callbacks or ()), Stopping()], early_stopping_rounds=None, eval_metric=None)
    estimator.fit(X, label, **passed)
    estimator.set_params(callbacks=callbacks)
    if best:
        estimator.get_booster().load_model(best[0])
    return int(estimator.best_iteration) + 1


def _fit_catboost(estimator: Any, X: Any, label: Any, passed: Any, sets: Any, evaluation: Evaluation) -> int:
    from catboost import Pool  # type: ignore[import-untyped]

    params = estimator.get_params()
    columns = {
        name: passed.get(name, params.get(name)) for name in ("cat_features", "text_features", "embedding_features")
    }
    ranks = query_parameter(estimator) is not None
    pools = [
        Pool(features, labels, group_id=codes if ranks else None, **columns) for features, labels, codes in sets
    ]
    estimator.set_params(eval_metric=evaluation)
    if not any(params.get(name) is not None for name in _PATIENCE):
        passed.setdefault("early_stopping_rounds", _DEFAULT_PATIENCE)
    estimator.fit(X, label, eval_set=pools[0] if len(pools) == 1 else pools, **passed)
    return int(estimator.get_best_iteration()) + 1


#: Minimum number of queries; with fewer, a feature may distinguish them by chance.
_FEWEST_QUERIES = 10


def warn_of_columns(X: Any, labels: Any, queries: NDArray[Any]) -> None:
    """Warn about features that are the labels of an aspect, or the queries.

    Columns of frames have names, so that features of queries are intended: there, only the query ids count.
    """
    if getattr(X, "ndim", 0) != 2 or hasattr(X, "toarray"):
        return
    named = hasattr(X, "columns")
    varied = {name: labels[name].to_numpy() for name in labels if labels[name].nunique() > 1}
    codes, distinct = pd.factorize(queries)
    _, first = np.unique(codes, return_index=True)
    several = (np.bincount(codes) > 1).sum() >= _FEWEST_QUERIES
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy()
    for name, column in (X if named else pd.DataFrame(np.asarray(X))).items():
        values = np.asarray(column)
        if values.dtype.kind not in "biufO":
            continue
        for aspect, label in varied.items():
            if np.array_equal(values, label):
                warn(
                    f"the column {name} of X equals the labels of {aspect}, so the model sees what it should "
                    "predict: drop it from X"
                )
        if not several or len(set(values[first].tolist())) < len(first) or (values[first][codes] != values).any():
            continue
        ids = distinct if values.dtype.kind == "O" else numbers
        if not named or name in RUN_QUERY_COLUMNS or np.array_equal(values[first], ids):
            warn(
                f"the column {name} of X looks like the query id, and is learnt as a feature "
                "(it has one value per query, and all differ): drop it from X"
            )
