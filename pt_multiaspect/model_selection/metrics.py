"""What gradient boosting libraries call for the value of a measure, one class per library."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Ints
from .._validation import choice
from ..aspects.parameter import AspectSpec, parse_aspects
from ..collection.frames import in_memory
from ..errors import MultiAspectError, choices
from .labels import LabelledRows, aggregated, check_known, find_qid
from .row_order import check_order
from .scorer import RankingScorer

__all__ = ["CatBoostMetric", "LightGBMMetric", "XGBoostMetric"]

#: XGBoost keeps row numbers as 32-bit floats.
_MOST_NUMBERED = 2**24


class _Metric:
    """One or several measures on a fixed validation set."""

    def __init__(
        self,
        measure: Any,
        Y_valid: object,
        qid_valid: object,
        aspects: object,
        name: str | None,
        check_labels: bool,
        missing: str,
    ):
        spec: AspectSpec = parse_aspects(aspects)
        several = isinstance(measure, Sequence | Mapping) and not isinstance(measure, str)
        if several and (name is not None or not measure):
            raise MultiAspectError(
                "expected at least one measure and no name for a list, as each metric has its own name; give names "
                f"as in {{'cam': 'CAM@10'}}, got {measure!r} and name={name!r}"
            )
        named = isinstance(measure, Mapping)
        measures = list(measure.values()) if named else list(measure) if several else [measure]
        scorers = [RankingScorer(each, spec) for each in measures]
        Y_valid, qid_valid = in_memory(Y_valid), in_memory(qid_valid)
        check_order("Y_valid", Y_valid, qid_valid=qid_valid)
        queries = find_qid(qid_valid, None, Y_valid)
        if queries is None:
            raise MultiAspectError(
                "expected qid_valid, the query of every row of the validation set, got None; pass it, or add an "
                "index level or a column qid to Y_valid"
            )
        self._rows = LabelledRows(Y_valid, queries, spec, scorers[0].measure)
        self._measures = [scorer.measure_on(self._rows) for scorer in scorers]
        if choice("missing", "error", "lowest")(missing) == "error":
            for each in self._measures:
                check_known(each, self._rows.judgments, "Y_valid")
        labels = list(measure) if named else [name or str(scorer.measure) for scorer in scorers]
        # Early stopping looks metrics up by name; LightGBM < 4.6 uses the part after the last blank.
        self._names = [self._name("".join(str(label).split())) for label in labels]
        if len(set(self._names)) < len(self._names):
            raise MultiAspectError(f"expected metrics with different names, got {choices(self._names)}")
        self._several = several
        self._check_labels = check_labels
        self._checked: NDArray[np.float64] | None = None
        self.__name__ = ",".join(self._names)

    def _name(self, label: str) -> str:
        return label

    @property
    def maximize(self) -> bool:
        """Whether higher is better for the last measure, by which XGBoost stops by default."""
        return not self._measures[-1].lower_aggregate_is_better

    def _values(
        self, scores: Any, labels: Any = None, group: Any = None, rows: Ints | None = None
    ) -> list[tuple[str, float, bool]]:
        """Return the name of each metric, its value, and whether higher is better.

        `labels` and `group` are those of all rows of the metric, also if only some `rows` are evaluated.
        """
        scores = np.asarray(scores)
        expected = len(self._rows) if rows is None else len(rows)
        if len(scores) != expected:
            raise MultiAspectError(
                f"metric {self.__name__}: expected predictions for its validation set of {expected} rows, "
                f"got {len(scores)}; evaluate on that set only, not on the training set"
            )
        sizes = self._rows.group_sizes
        if group is not None and list(group) != sizes:
            raise MultiAspectError(
                f"metric {self.__name__}: expected {len(sizes)} queries with {_shown(sizes)} rows, got "
                f"{len(group)} with {_shown(list(group))}; create the metric from the rows of the evaluation set, "
                "in the same order"
            )
        if self._check_labels and labels is not None:
            self._check(np.asarray(labels, dtype=np.float64))
        rankings = self._rows.rankings(scores, rows)
        chosen = slice(None) if rows is None else self._whole_queries(rows)
        return [
            (name, aggregated(measure, measure.evaluate(rankings)[chosen]), not measure.lower_aggregate_is_better)
            for name, measure in zip(self._names, self._measures, strict=True)
        ]

    def _whole_queries(self, rows: Ints) -> NDArray[np.bool_]:
        """Tell which queries the rows belong to, after checking that no query is divided."""
        judgments = self._rows.judgments
        query = judgments.queries_of(self._rows.qids)
        total, here = (np.bincount(part, minlength=judgments.n_queries) for part in (query, query[rows]))
        divided = np.flatnonzero((here > 0) & (here < total))
        if len(divided):
            raise MultiAspectError(
                f"metric {self.__name__}: expected folds of whole queries, got {here[divided[0]]} of "
                f"{total[divided[0]]} rows of the query {judgments.qids[divided[0]]}; use folds that keep the rows "
                "of a query together"
            )
        return np.asarray(here > 0, dtype=np.bool_)

    def _check(self, labels: NDArray[np.float64]) -> None:
        """Raise an error if the labels of the evaluation set show that its rows are in another order."""
        if self._checked is not None and np.array_equal(labels, self._checked):
            return
        if not self._agree(labels):
            raise MultiAspectError(
                f"the labels of the evaluation set do not match those of the metric {self.__name__}: create the "
                "metric from the rows of the evaluation set, in the same order. If the rows are the same and the "
                "model is trained on labels of other aspects, pass check_labels=False"
            )
        self._checked = labels

    def _agree(self, labels: NDArray[np.float64]) -> bool:
        return any(self._rows.agree_with(labels, measure) for measure in self._measures)


def _shown(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else "")


class LightGBMMetric(_Metric):
    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> Any:
        # lgb.train and lgb.cv call with (predictions, Dataset), the ranker with (labels, predictions, weight,
        # group).
        rows = None
        if hasattr(second, "get_label"):
            predictions, whole = first, second
            used, reference = getattr(second, "used_indices", None), getattr(second, "reference", None)
            # A fold: a part of the data set that has the rows of the metric.
            if used is not None and reference is not None and reference.num_data() == len(self._rows):
                rows, whole = np.asarray(used, dtype=np.intp), reference
            labels, group = whole.get_label(), getattr(whole, "get_group", lambda: None)()
        else:
            predictions, labels = second, first
        values = self._values(predictions, labels, group, rows)
        return values if self._several else values[0]


class XGBoostMetric(_Metric):
    #: The labels of the DMatrix whose rows are numbered.
    _labels: NDArray[Any] | None = None

    def _name(self, label: str) -> str:
        # XGBoost prints "data-metric:value data-metric:value" and early stopping reads it back.
        return label.replace(":", "=")

    def __call__(self, predictions: Any, data: Any) -> Any:
        if not hasattr(data, "get_label"):
            raise MultiAspectError(
                "XGBoost's scikit-learn wrapper calls a ranking metric once per query, with the labels and "
                "predictions of that query only, so a measure over all queries cannot be computed; use "
                "xgboost.train(..., custom_metric=...)"
            )
        self._check_direction()
        rows = self._numbered(data)
        if rows is None:
            evaluated = self._values(predictions, data.get_label(), _group_sizes(data))
        else:
            self._check_fold(rows, data.get_label())
            evaluated = self._values(predictions, rows=rows)
        values = [(name, value) for name, value, _ in evaluated]
        return values if self._several else values[0]

    def number_rows(self, data: Any) -> Any:
        """Number the rows of a DMatrix, so that ``xgb.cv`` can evaluate the metric on folds of it.

        Parameters
        ----------
        data : DMatrix
            It has the rows of the metric, in the same order, and the sizes of their queries.

        Returns
        -------
        DMatrix
            The given one, with the number of each row as its ``label_lower_bound``, which rankers do not use.
        """
        n_rows = len(self._rows)
        sizes = _group_sizes(data)
        if data.num_row() != n_rows or sizes != self._rows.group_sizes:
            raise MultiAspectError(
                f"metric {self.__name__}: expected a DMatrix with the {n_rows} rows of the metric and, set by "
                f"set_group, queries with {_shown(self._rows.group_sizes)} rows; got {data.num_row()} rows and "
                f"{'queries with ' + _shown(sizes) + ' rows' if sizes else 'no queries'}"
            )
        if n_rows > _MOST_NUMBERED:
            raise MultiAspectError(f"expected at most {_MOST_NUMBERED} rows, got {n_rows}")
        if self._check_labels:
            self._check(np.asarray(data.get_label(), dtype=np.float64))
        self._labels = np.array(data.get_label())
        data.set_float_info("label_lower_bound", np.arange(n_rows, dtype=np.float32))
        return data

    def _numbered(self, data: Any) -> Ints | None:
        """Return which rows of the metric a fold has; None for other sets."""
        if self._labels is None or data.num_row() == len(self._rows):
            return None
        numbers = data.get_float_info("label_lower_bound")
        return np.asarray(numbers, dtype=np.intp) if len(numbers) == data.num_row() else None

    def _check_fold(self, rows: Ints, labels: Any) -> None:
        if self._labels is None or not np.array_equal(self._labels[rows], labels):
            raise MultiAspectError(
                f"metric {self.__name__}: the labels of a fold are not those of the DMatrix that number_rows was "
                "called with; create a metric for each DMatrix"
            )

    def _check_direction(self) -> None:
        """Raise an error if early stopping minimises a measure for which higher is better, or the reverse.

        Unless told, XGBoost maximises metrics with names such as "ndcg" and "map" only.
        """
        for stopping in _early_stoppings():
            name = getattr(stopping, "metric_name", None) or self._names[-1]
            if name not in self._names or stopping.maximize is None:  # not decided before the first round
                continue
            higher = not self._measures[self._names.index(name)].lower_aggregate_is_better
            if bool(stopping.maximize) != higher:
                does, better = ("minimises", "higher") if higher else ("maximises", "lower")
                raise MultiAspectError(
                    f"XGBoost's early stopping {does} {name}, for which {better} is better: pass maximize={higher} "
                    "to xgboost.train or EarlyStopping"
                )


def _group_sizes(data: Any) -> list[int] | None:
    """The sizes of the queries of a DMatrix, if known."""
    ends = data.get_uint_info("group_ptr") if hasattr(data, "get_uint_info") else ()
    return np.diff(ends).tolist() if len(ends) > 1 else None


def _early_stoppings() -> list[Any]:
    """The early stopping callbacks of the XGBoost training that calls the metric."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == "xgboost.callback":
            callbacks = getattr(frame.f_locals.get("self"), "callbacks", None)
            if callbacks is not None:
                return [callback for callback in callbacks if hasattr(callback, "maximize")]
    return []


class CatBoostMetric(_Metric):
    """A measure in the form that CatBoost requires."""

    #: How many sets in a row were not that of the metric; CatBoost evaluates the training set first.
    _others = 0

    def __deepcopy__(self, memo: object) -> CatBoostMetric:
        # CatBoost copies its parameters, and scikit-learn's clone requires them to be the same objects.
        return self

    def is_max_optimal(self) -> bool:
        return self.maximize

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        (scores,) = approxes
        labels = np.asarray(target, dtype=np.float64)
        mine = len(scores) == len(self._rows)
        if mine and self._check_labels:
            mine = np.array_equal(labels, self._checked) if self._checked is not None else False
            mine = mine or self._agree(labels)
        if not mine:
            self._others += 1
            if self._others > 1:
                self._others = 0
                raise MultiAspectError(
                    f"metric {self.__name__}: expected one eval_set with the {len(self._rows)} rows of the metric, "
                    f"in the same order, got {len(scores)} rows or other labels. If the rows are the same and the "
                    "model is trained on labels of other aspects, pass check_labels=False"
                )
            return 0.0, 1.0
        self._others, self._checked = 0, labels
        ((_, value, _),) = self._values(np.asarray(scores))
        return value, 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error
