"""Measures as evaluation metrics of LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Ints
from .._validation import choice
from ..collection.columns import NOT_ASPECTS, is_numeric
from ..collection.other_libraries import to_pandas
from ..errors import MultiAspectError, choices, number_of
from ..integration.parsing import MeasureLike
from .arrays import label_frame
from .queries import find_documents, require_queries
from .rows import EvaluatedMeasure, LabelledRows, warn_of_single_rows

LIBRARIES = ("lightgbm", "xgboost", "catboost")


class _SetPart(NamedTuple):
    """The rows of a call: an evaluation set, or a fold of it."""

    set_number: int
    #: The positions of the rows of a fold as bytes, None for all rows of the set.
    fold: bytes | None

    @classmethod
    def of(cls, set_number: int, fold: Ints | None) -> _SetPart:
        """Return the rows of a fold, or of a whole set without one; usable as a key."""
        if fold is None:
            return cls(set_number, None)
        return cls(set_number, fold.tobytes())


class _CheckedRows(NamedTuple):
    """Rows that were checked at their first call, and their labels in the library."""

    rows: LabelledRows
    labels: NDArray[Any]


class _CatBoostSet(NamedTuple):
    """The identity of a training or evaluation set in CatBoost's calls."""

    #: The address of CatBoost's array of labels. If CatBoost passes copies, it is None, and 0 for
    #: an evaluation set with the labels of the training set.
    address: int | None
    #: The labels as bytes of 32-bit floats.
    labels: bytes

    @property
    def n_rows(self) -> int:
        """The number of labels."""
        bytes_per_label = np.dtype(np.float32).itemsize
        return len(self.labels) // bytes_per_label


class _CatBoostSets:
    """The sets that CatBoost evaluates, numbered in the order of their first calls.

    The number 0 is the training set, which CatBoost evaluates first, and 1, 2, … are the evaluation
    sets. Calls cannot be counted instead: with ``metric_period``, the last set is evaluated more
    often than others.
    """

    def __init__(self) -> None:
        #: The number of each set, in the order of the numbers.
        self._numbers: dict[_CatBoostSet, int] = {}
        #: The number of the set in the previous call.
        self._previous_number: int | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether no set was evaluated."""
        return len(self._numbers) == 0

    def number_of(self, target: Any) -> int:
        """Return the number of the set with the labels `target`; a new set gets the next number."""
        catboost_set = self._identify(target)
        if catboost_set not in self._numbers:
            self._numbers[catboost_set] = len(self._numbers)
        number = self._numbers[catboost_set]
        self._previous_number = number
        return number

    def _identify(self, target: Any) -> _CatBoostSet:
        """Return what tells the set with the labels `target` from other sets.

        That is the address of CatBoost's array of labels, or the labels themselves if CatBoost
        passes a copy, whose address means nothing.
        """
        labels = np.asarray(target, dtype=np.float32).tobytes()
        is_view = isinstance(target, np.ndarray) and not target.flags.owndata
        if is_view:
            return _CatBoostSet(address=target.ctypes.data, labels=labels)
        copied_set = _CatBoostSet(address=None, labels=labels)
        # An evaluation set may have the labels of the training set, whose number is 0. CatBoost does
        # not evaluate the training set twice in a row, so the second call is of the evaluation set.
        has_training_labels = self._numbers.get(copied_set) == 0
        follows_training_set = self._previous_number == 0
        if has_training_labels and follows_training_set:
            return _CatBoostSet(address=0, labels=labels)  # a mark: no array is at this address
        return copied_set

    def evaluation_sizes(self) -> list[int]:
        """Return the number of rows of each evaluation set."""
        sizes = [catboost_set.n_rows for catboost_set in self._numbers]
        return sizes[1:]  # without the training set, which comes first


class LibraryMetric:
    """A measure on evaluation sets, as a metric of a boosting library, which stops by the last set.

    Parameters
    ----------
    library : {'lightgbm', 'xgboost', 'catboost'}
        The library.
    evaluated : EvaluatedMeasure
        The measure.
    sets : sequence of LabelledRows
        The evaluation sets in the order of the library, or the rows of ``lgb.cv``.
    columns : sequence of DataFrame
        For each set, the columns on which the library's labels may depend.
    """

    #: CatBoost would replace the methods by ones that Numba compiles, which cannot be pickled.
    no_jit = True

    def __init__(
        self,
        library: str,
        evaluated: EvaluatedMeasure,
        sets: Sequence[LabelledRows],
        columns: Sequence[pd.DataFrame],
    ) -> None:
        self._library = library
        self._sets = list(sets)
        self._columns = list(columns)
        # `bind` checks the labels of each set. The measures are equal, as the columns of the sets
        # are the same.
        measures = [evaluated.bind(rows) for rows in sets]
        measure = measures[0]
        self._measure = measure
        self._source = evaluated.measure
        self.maximize = not measure.lower_is_better
        # XGBoost splits its logs at colons, and LightGBM < 4.6 splits names at blanks.
        name_without_blanks = "".join(str(measure).split())
        self.name = name_without_blanks.replace(":", "=")
        self.__name__ = self.name  # as functions have, which libraries also accept as metrics
        #: The values of all iterations, one list per set, in the order of their first calls.
        self.history: list[list[float]] = []
        #: The same lists by the rows of a call and, for CatBoost, the number of its set.
        self._values: dict[tuple[_SetPart, int], list[float]] = {}
        #: The rows whose labels and groups were checked, at their first call.
        self._checked: dict[_SetPart, _CheckedRows] = {}
        # Calls of LightGBM and CatBoost do not tell the set of their rows. It follows from the
        # number of calls of LightGBM, and from the labels that CatBoost passes.
        self._n_calls = 0
        self._catboost_sets = _CatBoostSets()

    def __deepcopy__(self, memo: object) -> LibraryMetric:
        """Return the metric itself, ready for a new training.

        CatBoost copies its parameters before it trains, and scikit-learn's clone requires the same
        objects.
        """
        self._catboost_sets = _CatBoostSets()
        return self

    def release(self) -> None:
        """Drop the rows, as a fitted model keeps its metric."""
        self._sets = []
        self._columns = []
        self._checked = {}
        self._values = {}
        self._catboost_sets = _CatBoostSets()

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
            The callback. That of XGBoost has ``maximize`` set: by default, XGBoost minimises
            metrics whose names it does not know.

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
            f"early_stopping: CatBoost has no callback for it; pass early_stopping_rounds={rounds} "
            "to fit"
        )

    def evaluate_set(self, scores: Any, index: int) -> float:
        """Return the value of the measure for predictions of a set, and add it to the history.

        `scores` are one prediction per row of the set with this index. Unlike rows that a library
        passes, these are not checked.
        """
        rows = self._sets[index]
        whole_set = _SetPart(index, fold=None)
        return self._record(scores, rows, whole_set)

    # -- LightGBM and XGBoost
    # ------------------------------------------------------------------------

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> Any:
        """Return name, value and direction for LightGBM, or name and value for XGBoost.

        LightGBM's estimators pass (labels, predictions, weights, group sizes). The functions
        ``lgb.train``, ``lgb.cv`` and ``xgb.train`` pass (predictions, data).
        """
        # The data of both libraries have this method, predictions do not.
        has_data = hasattr(second, "get_label")
        if not has_data:
            return self._evaluate_estimator(labels=first, scores=second, sizes=group)
        # Only the data of XGBoost, a DMatrix, have this method.
        is_xgboost = hasattr(second, "num_row")
        if is_xgboost:
            return self._evaluate_matrix(scores=first, matrix=second)
        return self._evaluate_dataset(scores=first, dataset=second)

    def _evaluate_matrix(self, scores: Any, matrix: Any) -> tuple[str, float]:
        """Return name and value for ``xgb.train``, which passes predictions and a DMatrix."""
        group_bounds = matrix.get_uint_info("group_ptr")
        sizes = np.diff(group_bounds)
        labels = matrix.get_label()
        value = self._evaluate_rows(scores, labels, sizes)
        return self.name, value

    def _evaluate_dataset(self, scores: Any, dataset: Any) -> tuple[str, float, bool]:
        """Return name, value and direction for functions of LightGBM, which pass a Dataset."""
        labels = dataset.get_label()
        sizes = dataset.get_group()
        fold = self._fold_of_dataset(dataset)
        value = self._evaluate_rows(scores, labels, sizes, fold=fold)
        return self.name, value, self.maximize

    def _fold_of_dataset(self, dataset: Any) -> Any:
        """Return the rows of y in a Dataset of ``lgb.cv``, by position; None for all rows.

        A Dataset that is a subset of another one has its rows in this as `used_indices`.
        """
        subset = getattr(dataset, "used_indices", None)
        if subset is None:
            return None
        # A fold is a subset of y. A validation set of lgb.train is all of y, even if it was made as
        # a subset of other data.
        n_rows_of_whole = dataset.reference.num_data()
        is_fold = n_rows_of_whole == len(self._sets[0])
        if is_fold:
            return subset
        return None

    def _evaluate_estimator(self, labels: Any, scores: Any, sizes: Any) -> Any:
        """Return name, value and direction for an estimator of LightGBM, or [] for no result.

        In each iteration, LightGBM calls the metric once per evaluation set, in their order. It
        would stop by any set that has a result, so only the last one has.
        """
        if self._library == "xgboost":
            raise MultiAspectError(
                f"metric {self.name}: XGBoost's estimators evaluate a metric query by query, and "
                "minimise it; pass the measure to AspectRanker, or the metric to "
                "xgb.train(custom_metric=…)"
            )
        # A call does not tell its set, but calls are counted: those of two sets are of set
        # 0, 1, 0, 1, …
        n_sets = len(self._sets)
        index = self._n_calls % n_sets
        self._n_calls += 1
        value = self._evaluate_rows(scores, labels, sizes, index=index)
        is_last_set = index == n_sets - 1
        if not is_last_set:
            return []
        return self.name, value, self.maximize

    # -- CatBoost
    # ------------------------------------------------------------------------------------

    def is_max_optimal(self) -> bool:
        """Return whether higher values are better."""
        return self.maximize

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the value; the weight is ignored."""
        return error

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the value and weight for CatBoost.

        Parameters
        ----------
        approxes : sequence of array
            The predictions: one array per target, of which there is one.
        target : array
            The labels of one of CatBoost's sets, which passes neither name nor number of the set.
        weight : array
            Ignored.
        """
        not_computed = (0.0, 1.0)
        (scores,) = approxes
        is_first_call = self._catboost_sets.is_empty
        number = self._catboost_sets.number_of(target)
        is_training_set = number == 0
        if is_training_set:
            # When it comes again, CatBoost has evaluated all sets once.
            if not is_first_call:
                self._check_catboost_sets()
            return not_computed
        # The evaluation sets have the numbers 1, 2, …; `self._sets` are counted from 0. If CatBoost
        # has more sets, they are compared with the last one.
        index = number - 1
        if index >= len(self._sets):
            index = len(self._sets) - 1
        # Sets of other rows have no value. That one set has the right rows is checked above.
        if len(scores) != len(self._sets[index]):
            return not_computed
        value = self._evaluate_rows(scores, target, None, index=index, catboost_number=number)
        return value, 1.0

    def _check_catboost_sets(self) -> None:
        """Raise an error if no evaluation set of CatBoost has as many rows as the first set here."""
        n_rows = len(self._sets[0])
        sizes = self._catboost_sets.evaluation_sizes()
        if n_rows not in sizes:
            raise MultiAspectError(
                f"metric {self.name}: expected an evaluation set of {n_rows} rows, those of y, got "
                f"{choices(sizes)}; pass the validation set as eval_set to fit"
            )

    # -- values of rows
    # ------------------------------------------------------------------------------

    def _evaluate_rows(
        self,
        scores: Any,
        labels: Any,
        sizes: Any,
        *,
        index: int = 0,
        fold: Any = None,
        catboost_number: int = 0,
    ) -> float:
        """Return the value for predictions of a set or a fold, after checking its rows.

        Parameters
        ----------
        scores, labels : array-like
            The predictions and the labels of the library.
        sizes : array-like, optional
            The sizes of the library's groups; none if it has no groups.
        index : int, default 0
            The index of the set.
        fold : sequence of int, optional
            The rows of a fold of ``lgb.cv``, by position in the set; by default, all rows.
        catboost_number : int, default 0
            The number of CatBoost's evaluation set, for the history: CatBoost may have more sets
            than this metric.
        """
        labels = np.asarray(labels)
        n_rows = len(self._sets[index])
        if fold is not None:
            fold = np.asarray(fold, dtype=np.intp)
            n_rows = len(fold)
        self._check_number(len(scores), n_rows)
        # Groups and labels are checked at the first call with these rows; later calls must have the
        # same labels.
        part = _SetPart.of(index, fold)
        if part not in self._checked:
            self._checked[part] = self._check_rows(index, fold, labels, sizes)
        checked = self._checked[part]
        if not np.array_equal(checked.labels, labels):
            raise MultiAspectError(
                f"metric {self.name}: expected the predictions for one validation set, got those "
                "for two sets with different labels; pass the validation set only, not the "
                "training set"
            )
        return self._record(scores, checked.rows, part, catboost_number)

    def _check_rows(
        self, index: int, fold: Ints | None, labels: NDArray[Any], sizes: Any
    ) -> _CheckedRows:
        """Return the rows of a set or a fold, after checking the library's labels and groups.

        The arguments are those of `_evaluate_rows`.
        """
        rows = self._sets[index]
        columns = self._columns[index]
        if fold is not None:
            rows = self._take_fold(rows, fold)
            columns = columns.iloc[fold]
        self._check_groups(rows, sizes)
        self._check_labels(rows, columns, labels)
        copied_labels = np.array(labels)  # as the library may change its array
        return _CheckedRows(rows, copied_labels)

    def _record(
        self, scores: Any, rows: LabelledRows, part: _SetPart, catboost_number: int = 0
    ) -> float:
        """Return the value for predictions of the rows, and add it to the history of the part.

        `catboost_number` is the number of CatBoost's evaluation set.
        """
        rankings = rows.rankings(scores)
        value = rows.evaluate(self._measure, rankings, self._source)
        key = (part, catboost_number)
        if key not in self._values:
            # The history has the same list, to which values are appended.
            values: list[float] = []
            self._values[key] = values
            self.history.append(values)
        self._values[key].append(value)
        return value

    def _check_number(self, n_scores: int, n_rows: int) -> None:
        """Raise an error if the predictions are not as many as the rows of the set."""
        if n_scores == n_rows:
            return
        message = (
            f"metric {self.name}: expected predictions for its validation set of {n_rows} rows, "
            f"got {n_scores}; evaluate on that set only, not on the training set"
        )
        if self._library == "xgboost":
            message += (
                ", and not in xgb.cv, which does not tell which rows are in a fold: pass an "
                "AspectRanker to scikit-learn's cross_validate"
            )
        raise MultiAspectError(message)

    def _take_fold(self, rows: LabelledRows, fold: Ints) -> LabelledRows:
        """Return the rows of a fold of ``lgb.cv``, given by position, on the scales of all rows.

        Raise an error if the fold has a part of the rows of a query.
        """
        queries = rows.queries
        queries_in_fold = queries[fold]
        queries_outside = np.delete(queries, fold)
        divided = set(queries_in_fold) & set(queries_outside)
        if divided:
            divided_queries = number_of(len(divided), "query")
            raise MultiAspectError(
                f"metric {self.name}: expected folds of whole queries, got "
                f"{divided_queries}, such as {min(divided)}, divided between "
                "folds; pass the queries as group= of lgb.Dataset, or folds= of whole queries"
            )
        return rows.take(fold)

    def _check_groups(self, rows: LabelledRows, sizes: Any) -> None:
        """Raise an error if the library's groups are not the queries of the rows, in order.

        `sizes` are the numbers of rows of the groups.
        """
        if sizes is None or len(sizes) == 0:
            return
        queries = rows.queries
        differs_from_previous = queries[1:] != queries[:-1]
        is_first_of_query = np.append(True, differs_from_previous)
        first_rows = np.flatnonzero(is_first_of_query)
        # A query ends where the next one begins, the last one at the end of the rows.
        bounds = np.append(first_rows, len(queries))
        expected_sizes = np.diff(bounds)
        group = _first_difference(expected_sizes, np.asarray(sizes))
        if group is None:
            return
        # One of the two may have no such group, if it has fewer groups than the other.
        in_y = "no rows"
        if group < len(expected_sizes):
            query = queries[first_rows[group]]
            in_y = f"{expected_sizes[group]} rows of query {query}"
        in_set = "none"
        if group < len(sizes):
            in_set = str(sizes[group])
        raise MultiAspectError(
            f"metric {self.name}: expected the groups of one validation set, which are the "
            f"queries of y: group {group} (counted from 0) has {in_y} in y, but {in_set} "
            "in the set. Pass y and qid in the order of the rows of the set, sorted by "
            "query, and the validation set only"
        )

    def _check_labels(
        self, rows: LabelledRows, columns: pd.DataFrame, labels: NDArray[Any]
    ) -> None:
        """Raise an error if rows of a query have equal labels in y, but not in the library.

        Parameters
        ----------
        rows : LabelledRows
            The rows.
        columns : DataFrame
            The columns of y on which the library's labels may depend.
        labels : ndarray of shape (n_rows,)
            The library's labels.
        """
        queries = rows.queries
        keys: list[Any] = [queries]
        for name in columns:
            keys.append(columns[name].to_numpy())
        # For each row, the first one of the same query with equal labels in y.
        row_numbers = pd.Series(np.arange(len(labels)))
        first_alike = row_numbers.groupby(keys, dropna=False).transform("min").to_numpy()
        differing_rows = np.flatnonzero(labels != labels[first_alike])
        if len(differing_rows) == 0:
            return
        row = int(differing_rows[0])
        other = int(first_alike[row])
        raise MultiAspectError(
            f"metric {self.name}: expected the labels of one validation set, made from y: rows "
            f"{other} and {row} (counted from 0) of query {queries[row]} have equal labels in y, "
            f"but {labels[other]:g} and {labels[row]:g} in the set. Pass y and qid in the order of "
            "the rows of the set, and the validation set only. If its labels are made from more "
            "than y, add that as a column to y, and select with aspects="
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

    `AspectRanker` does not require it: pass it `measure` and an evaluation set. Use this function
    with ``lgb.train``, ``xgb.train``, ``pt.ltr`` or a plain ranker.

    Parameters
    ----------
    library : {'lightgbm', 'xgboost', 'catboost'}
        The library. LightGBM: ``LGBMRanker.fit(eval_metric=...)``, ``lgb.train(feval=...)`` or
        ``lgb.cv(feval=...)``, with the parameter ``metric="None"``. XGBoost:
        ``xgb.train(custom_metric=metric, callbacks=[metric.early_stopping(rounds)])`` with the
        parameter ``disable_default_eval_metric=True``; without that callback or
        ``maximize=metric.maximize``, XGBoost would stop at the minimum. It cannot be used in
        XGBoost's estimators, which evaluate query by query, nor in ``xgb.cv``, whose folds do not
        tell their rows.
        CatBoost: ``CatBoostRanker(eval_metric=...)``; the value on the training set is 0.
    measure : ir_measures.Measure or str
        The measure, as in `ranking_scorer`.
    y : DataFrame or array-like of shape (n_rows, n_aspects)
        The labels of the validation rows, in the order in which they are passed to the library; for
        ``lgb.cv``, of all rows. If the library's labels are made from further columns, they must be
        in `y`, too.
    qid : array-like of shape (n_rows,), optional
        The query of each validation row. By default, the index level or column ``qid`` of `y`.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names (and declared scales) of the columns of an array, or the columns to select from a
        frame.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments, optional
        All judgments of the queries, as in `evaluate`, also of documents without a row. Ideal
        rankings and numbers of relevant documents are then those of the qrels; by default, they are
        those of the rows of each query. y needs an index level or a column docno.

    Returns
    -------
    callable
        The metric of this validation set. Its attributes are ``name``, as in the library's logs,
        ``maximize``, and ``history``, a list with the list of values (in ``lgb.cv``, one list per
        fold; with CatBoost, one per evaluation set with these labels, of which the last one stops
        the training). The method ``early_stopping(rounds)`` creates the library's callback. Ties
        are treated as in `ranking_scorer`.

    Raises
    ------
    MultiAspectError
        If queries or labels are missing, a document has several rows for a query (if `y` has a
        docno), or labels differ from those of `qrels`. When called: for predictions with another
        number of rows, or of two sets; if the library's groups are not the queries of `y` in their
        order; if rows of a query with equal labels in `y` have different labels in the library; if
        CatBoost has no evaluation set of these rows.

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
    check_library = choice("library", *LIBRARIES)
    check_library(library)
    evaluated = EvaluatedMeasure(measure, aspects, missing, qrels)
    queries = require_queries("metric_for", y, None, qid)
    documents = find_documents(y=y, qid=qid)
    rows = evaluated.rows(y, queries, documents)
    warn_of_single_rows(rows.judgments, "metric_for")
    # The library's labels may be made from any labels of a frame, also those that the measure does
    # not evaluate. An array has the evaluated ones only.
    if to_pandas(y) is None:
        columns = rows.frame
    else:
        columns = label_frame(y).reset_index(drop=True)
    label_columns = _label_columns(columns)
    return LibraryMetric(library, evaluated, [rows], [columns[label_columns]])


def _label_columns(frame: pd.DataFrame) -> list[Any]:
    """Return the names of the columns that may be labels: not ids, nor the columns of a run."""
    no_labels = {*NOT_ASPECTS, "score", "rank"}
    names = []
    for name in frame:
        if name not in no_labels and is_numeric(frame[name]):
            names.append(name)
    return names


def _first_difference(first: Ints, second: Ints) -> int | None:
    """Return the first position at which arrays differ or one ends; None if they are equal."""
    n_common = min(len(first), len(second))
    differing = np.flatnonzero(first[:n_common] != second[:n_common])
    if len(differing):
        return int(differing[0])
    if len(first) != len(second):
        return n_common
    return None
