"""Training labels, and the targets (measures, orders and aspects) that define them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeGuard, cast

import ir_measures
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from .._validation import choice
from ..aspects import Aspects, AspectSpec, aspect_name, parse_aspects
from ..bases.strings import measure_with_cutoff, similar_names
from ..collection import Judgments
from ..collection.columns import DOCUMENT_COLUMNS, beir_columns
from ..collection.other_libraries import plain_column, to_pandas
from ..errors import MultiAspectError, choices, did_you_mean, refuse_unknown, shown
from ..integration import parsing
from ..measures import TOMA, Measure, On, registered_measures
from ..measures.measure import warn_if_inferred
from ..measures.parameters import ASPECTS
from ..orders.distance import DistanceOrder
from ..orders.order import Order
from .arrays import label_frame
from .queries import find_queries, require_queries
from .rows import LabelledRows, check_known, with_scales

Target = Measure | Order | DistanceOrder | str

SCALED_SUM = "scaled sum"

#: The number of entries of LightGBM's default ``label_gain``, and the number of levels of its
#: labels here.
MOST_LEVELS = 31


class Labels(NamedTuple):
    """Training labels, and the parameters with which a learner uses them as gains.

    Attributes
    ----------
    values : DataFrame or ndarray
        For qrels, a frame with the columns ``qid docno label``; for rows of labels, an array.
    params : dict
        Parameters of the learner.
    """

    values: Any
    params: dict[str, Any]


def aggregate_labels(
    y: object,
    target: Target,
    form: str | None = None,
    *,
    qid: object = None,
    aspects: object = None,
    missing: str = "error",
) -> Labels:
    """Aggregate the labels of all aspects into one label per document, for training any ranker.

    `AspectRanker` does not require it. Use this function for ``pt.ltr``, the boosters' own
    interfaces and neural rankers.

    Parameters
    ----------
    y : qrels or rows of labels
        Wide qrels with one numeric column per aspect (a frame with document ids, a dict,
        namedtuples or Judgments), or rows of labels, as for `AspectRanker`.
    target : measure, Order, DistanceOrder or str
        The definition of the label: the gain that the measure sums. For TOMA, the weight of the
        document's class (the class index by default, see `weighting`). For On or the name of an
        aspect, the gains of that aspect. For an Order, its weights. For uRBP, uRBPgr, unDCG, uERR
        and NWCS, the gain that they sum. For CAM, its linear form Σ_a p_a g_a(d) / norm_a(q), where
        the norm is the ideal DCG@k for nDCG@k, the number of relevant documents for R, and 1 for
        DCG, P and RBP. For CAM with other or mixed bases, MM, GAM, WHAM and uERR, no label makes
        sorting optimal, and the same form is a surrogate. ``'scaled sum'`` is Σ_a gain / top gain.
    form : {'lightgbm', 'xgboost', 'catboost', 'unit'}, optional
        The learner. LightGBM requires integers: the index of each of at most 31 levels, whose gains
        are in ``label_gain``; more distinct labels are merged by intervals of equal width. XGBoost
        and CatBoost use the labels themselves. ``'unit'`` divides them by their maximum, for
        cross-encoders and distillation. By default, the labels themselves.
    qid : array-like of shape (n_rows,), optional
        The query of each row, for rows of labels without an index level or column qid.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names of the columns if y is an array, required if there are several, or the columns to
        select from a data frame or qrels. Declared scales are also those of a target without
        scales.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) of an aspect raises an error or counts as the lowest grade, as
        in evaluation.

    Returns
    -------
    Labels
        The ``values`` and the ``params``. Values are in the order of the rows of `y`. Negative
        weights of an Order are replaced with 0.

    Raises
    ------
    MultiAspectError
        If `target` does not define a label, `y` lacks one of its aspects or has missing labels, is
        an array of several columns without names, a pair is judged twice with different labels, or
        queries are required and not given.

    Notes
    -----
    The levels of LightGBM and the unit depend on all given labels: aggregate those of training and
    validation topics in a single call.

    *Pointwise learners*, such as a cross-encoder with a binary cross-entropy loss, compare labels
    across queries. They can use targets whose label depends on the document only: TOMA, an Order,
    an aspect, ``'scaled sum'``, uRBP, uRBPgr, unDCG, uERR, and CAM over DCG, P or RBP.

    CAM over nDCG or R, and MM, GAM and WHAM over these, divide by a norm of the query: use them
    with pairwise and listwise losses only. The best tuple of labels is worth less where there are
    many good documents. With ``CAM@10``, it has .38 to .57 of the unit on CLEF eHealth 2015 and .93
    to 1 on CLEF eHealth 2018; with ``CAM(base='R@10')``, .02 to .21 and .32 to 1. Of pairs of
    documents of any queries in which one is better on an aspect and no worse on the others,
    ``CAM(base='R@10')`` orders a quarter wrongly, and ``CAM@10`` at most .4 %.

    References
    ----------
    Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021, §3 and §4.2.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> first = {"relevance": 2, "credibility": 0}
    >>> second = {"relevance": 1, "credibility": 1}
    >>> qrels = {"q1": {"d1": first, "d2": second}}
    >>> aspects = {"relevance": 2, "credibility": 1}
    >>> target = ma.TOMA(distance="manhattan", axes="gains", aspects=aspects)
    >>> ma.aggregate_labels(qrels, target).values
      qid docno  label
    0  q1    d1      2
    1  q1    d2      2
    >>> labels = ma.aggregate_labels(qrels, ma.CAM(base="DCG", aspects=aspects), form="lightgbm")
    >>> labels.values["label"].tolist(), labels.params
    ([1, 1], {'objective': 'lambdarank', 'label_gain': [0.0, 1.0]})
    """
    if form is not None:
        parse_form = choice("form", "lightgbm", "xgboost", "catboost", "unit")
        form = parse_form(form)
    declared = parse_aspects(aspects)
    measure = read_target(target, aspects=declared)
    measure = with_scales(measure, declared)  # unless it has scales of its own
    frame = to_pandas(y)
    is_qrels = _is_qrels(y, frame)
    if is_qrels:
        judgments = _read_qrels(y, frame, qid, declared)
        measure = _with_declared_aspects(measure, declared)
        check_aspect_target(target, judgments.label_names, is_named=True)
        check_known(missing, measure, judgments, "qrels")
    else:
        # The declared aspects name or select the columns of y.
        judgments = _read_label_rows(y, qid, declared, measure)
        check_aspect_target(target, judgments.label_names, has_names(y, aspects))
        check_known(missing, measure, judgments, "y")
    gain_of_pair = target_gains(judgments, measure)  # pairs are sorted by query
    gain = judgments.row_values(gain_of_pair)  # in the order of the rows of y
    labels, params = _learner_labels(gain, form)
    if not is_qrels:
        return Labels(labels, params)
    values = _label_rows(judgments, labels)
    if frame is not None:
        values.index = frame.index
    return Labels(values, params)


def _with_declared_aspects(measure: Measure, declared: AspectSpec) -> Measure:
    """Return a target with the declared aspects, if it is for any aspects and selects none."""
    if declared is None or not measure.accepts_aspects:
        return measure
    if measure["aspects"] is not None:
        return measure
    return measure(aspects=declared)


def _is_qrels(y: object, frame: pd.DataFrame | None) -> bool:
    """Return whether y, or the `frame` made of it, is qrels: labels with document ids."""
    if isinstance(y, dict | Judgments) or _is_record_iterable(y):
        return True
    if frame is None:
        return False
    has_documents = any(name in frame.columns for name in DOCUMENT_COLUMNS)
    return has_documents or beir_columns(frame.columns) is not None


def _read_qrels(
    y: object, frame: pd.DataFrame | None, qid: object, declared: AspectSpec
) -> Judgments:
    """Return qrels as judgments, after checking that they have the declared aspects."""
    find_queries(frame, None, qid)  # raises the error for rows in another order
    if frame is None:
        judgments = Judgments.of(y)
    else:
        judgments = Judgments.of(frame)
    if declared is not None:
        judgments.views(declared)  # raises the error for missing columns
    return judgments


def _read_label_rows(y: object, qid: object, declared: AspectSpec, measure: Measure) -> Judgments:
    """Return rows of labels as judgments, of one query if none are given or required."""
    rows = label_frame(y, declared, measure)
    if measure.stated.gain_per_query:
        owner = f"the label of {measure}, normalised per query,"
        queries = require_queries(owner, y, None, qid)
        return LabelledRows(rows, plain_column(queries)).judgments
    known_queries = find_queries(y, None, qid)
    if known_queries is not None:
        return LabelledRows(rows, plain_column(known_queries)).judgments
    # All rows count as one query, in which a document may occur once only. So the index is replaced
    # with numbers: it may name a document of several queries.
    rows = rows.reset_index(drop=True)
    one_query = np.zeros(len(rows), dtype=np.intp)
    return LabelledRows(rows, one_query).judgments


def _is_record_iterable(y: object) -> bool:
    """Return whether y is a list of namedtuples, or an iterator, such as the qrels of ir_datasets.

    What an iterator yields is not known before it is read.
    """
    if isinstance(y, list | tuple):
        return len(y) > 0 and hasattr(y[0], "_fields")
    return hasattr(y, "__next__")  # an iterator


def _label_rows(judgments: Judgments, labels: NDArray[Any]) -> pd.DataFrame:
    """Return qid, docno and label of each row of qrels; `labels` are in the order of the rows."""
    query_of_pair = judgments.qids[judgments.pool_query]
    columns = {
        "qid": judgments.row_values(query_of_pair),
        "docno": judgments.row_values(judgments.docnos),
        "label": labels,
    }
    return pd.DataFrame(columns)


def _learner_labels(gain: Floats, form: str | None) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return gains as the labels of a learner, and its parameters.

    The forms are those of `aggregate_labels`. Labels that are whole numbers are integers.
    """
    maximum = gain.max(initial=0.0)
    if form == "lightgbm":
        levels, level_gains = gain_levels(gain, MOST_LEVELS)
        return levels, {"objective": "lambdarank", "label_gain": level_gains}
    if form == "unit":
        if maximum == 0:
            return gain, {}
        return gain / maximum, {}
    params: dict[str, Any] = {}
    if form == "xgboost":
        params = {"objective": "rank:ndcg", "ndcg_exp_gain": False}
    is_whole = gain == np.floor(gain)
    if is_whole.all() and maximum < 2**53:  # larger floats have no decimals at all
        return gain.astype(np.int64), params
    return gain, params


def gain_levels(gain: Floats, max_levels: int | None = None) -> tuple[Ints, list[float]]:
    """Return the level of each gain, from 0 for the gain 0, and the gain of each level.

    Levels are the distinct gains or, if there are more than `max_levels` of them, intervals of
    equal width, whose gain is the mean of their documents.
    """
    distinct = np.unique(np.append(gain, 0.0))
    if max_levels is None or len(distinct) <= max_levels:
        level = np.searchsorted(distinct, gain)
        return level, distinct.tolist()
    level = _interval_levels(gain, n_intervals=max_levels - 1)
    total_gain = np.bincount(level, weights=gain)  # (n_levels,)
    n_documents = np.bincount(level)
    # Level 0 may have no documents: its gain is 0 / 1.
    mean_gain = total_gain / np.maximum(n_documents, 1)
    return level, mean_gain.tolist()


def _interval_levels(gain: Floats, n_intervals: int) -> Ints:
    """Return the level of each gain: 0 for the gain 0, then one per interval that has documents.

    The intervals divide the range from 0 to the maximum gain into equal widths. With 10 intervals,
    the gains ``[0.1, 0.12, 1.0]`` are in the intervals 1, 2 and 10, and have the levels 1, 2, 3.
    """
    # Rounded up, so that interval 0 has the gain 0 alone.
    interval = np.ceil(gain / gain.max() * n_intervals).astype(np.intp)
    distinct_intervals = np.unique(interval)
    # Level 0 is that of the gain 0, even if no document has it.
    if distinct_intervals[0] != 0:
        distinct_intervals = np.append(0, distinct_intervals)
    level: Ints = np.searchsorted(distinct_intervals, interval)
    return level


# -- targets
# -----------------------------------------------------------------------------------------


class _ScaledSum(Measure):
    """The sum of the labels, each divided by its top grade, which cannot be evaluated."""

    NAME = SCALED_SUM
    SUPPORTED_PARAMS = {"aspects": ASPECTS}

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the sum of the gains of each document, divided by those of the top grades."""
        views = self.views(judgments)
        warn_if_inferred(self, views)
        scaled_gains = []  # one array of shape (n_documents,) per aspect
        for view in views:
            view.check_gains(f"the target {self}")
            top_gain = view.target.top
            if top_gain == 0:
                top_gain = 1.0  # all gains are 0
            scaled_gains.append(view.target.gain / top_gain)
        gain = np.sum(scaled_gains, axis=0)
        return np.asarray(gain, dtype=np.float64)

    def _spell_declared(self, aspects: Aspects) -> str:
        return f"measure=CAM(aspects={aspects.spelled()!r})"


def read_target(
    target: object, measure: Measure | None = None, aspects: AspectSpec = None
) -> Measure:
    """Return the measure that defines a target: a measure, its name, an order or an aspect.

    If the target is the name ``'scaled sum'``, it has the aspects of `measure`. If it is the name
    of an aspect, it has its scale in `aspects`.
    """
    if isinstance(target, RejectedTarget):
        return target.bind()  # raises the error about its parameters
    if isinstance(target, parsing.MeasureName):
        target = target.measure
    if isinstance(target, str):
        return _read_target_name(target, measure, aspects)
    # Only orders of tuples of labels have this attribute: the parameters of TOMA by that order.
    order_parameters = getattr(target, "parameters", None)
    if order_parameters is not None:
        return TOMA(**order_parameters)
    if not _has_gain(target):
        raise _no_gain_error(target)
    return cast(Measure, target)


def _read_target_name(name: str, measure: Measure | None, aspects: AspectSpec) -> Measure:
    """Return the measure of a target that is a text; the parameters are those of `read_target`."""
    if name == SCALED_SUM:
        if measure is None:
            return _ScaledSum(aspects=None)
        return _ScaledSum(aspects=measure.spec)
    if _is_aspect(name):
        if isinstance(aspects, Aspects):
            check_aspect_target(name, list(aspects), is_named=True)
        return On(aspect=name)
    hint = did_you_mean([name], [SCALED_SUM])
    if hint:
        raise MultiAspectError(
            f"target: expected a measure, an aspect or {SCALED_SUM!r}, got {name!r}{hint}"
        )
    measures = parsing.parse(name)  # several for a name such as P, which stands for P@5, P@10, …
    if len(measures) == 1 and _has_gain(measures[0]):
        return cast(Measure, measures[0])
    raise _no_gain_error(name)


def _has_gain(measure: object) -> bool:
    """Return whether the class of a measure defines a gain of a document.

    With some parameters, the gain may still be None.
    """
    undefined = Measure.document_gain
    document_gain = getattr(type(measure), "document_gain", undefined)
    return document_gain is not undefined


def _is_aspect(target: object) -> TypeGuard[str]:
    """Return whether a target is the name of an aspect, whether or not the labels have it."""
    if not isinstance(target, str) or isinstance(target, parsing.MeasureName):
        return False
    # Names of measures may also have parameters or a cutoff, as in CAM@10.
    is_measure = target in ir_measures.measures.registry
    return target.isidentifier() and not is_measure


def has_names(y: object, aspects: object) -> bool:
    """Return whether the columns of labels have names, declared or of a frame or series."""
    if aspects is not None:
        return True
    is_frame = to_pandas(y) is not None
    series_name = getattr(y, "name", None)
    return is_frame or isinstance(series_name, str)


def check_aspect_target(target: object, names: Sequence[str], is_named: bool) -> None:
    """Raise an error for a target that names neither a measure nor a column of labels.

    Parameters
    ----------
    target : object
        The target. Only names of aspects are checked.
    names : sequence of str
        The aspects of the columns of labels.
    is_named : bool
        Whether the columns have names of their own. A single column without a name is called by the
        target.
    """
    if not _is_aspect(target):
        return
    if aspect_name(target) not in names:
        raise _unknown_target_error(target, names)
    # A column without a name was called by the target, even if this is a misspelt measure.
    if not is_named and _is_nearly_a_measure(target):
        raise MultiAspectError(
            f"target: expected a measure or an aspect, got {target!r}; {similar_names(target)}. If "
            f"it is the aspect of y, pass aspects=[{target!r}]"
        )


def _unknown_target_error(target: str, names: Sequence[str]) -> MultiAspectError:
    """Return the error for a target that is none of the aspects; see `check_aspect_target`.

    It may be meant as a measure, or as ``'scaled sum'``, and be misspelt.
    """
    hint = did_you_mean([target], [SCALED_SUM])
    return MultiAspectError(
        f"target: expected a measure or an aspect ({choices(names)}), got {target!r}, and "
        f"there is no column for the aspect {target}; of measures, "
        f"{similar_names(target)}{hint}"
    )


def _is_nearly_a_measure(name: str) -> bool:
    """Return whether a name is nearly a measure: a misspelt one, or with a cutoff as nDCG10."""
    if measure_with_cutoff(name):
        return True
    measures = [known.lower() for known in ir_measures.measures.registry]
    similar = get_close_matches(name.lower(), measures, n=1, cutoff=0.8)
    return len(similar) > 0


def _no_gain_error(target: object) -> MultiAspectError:
    """Create the error for a target without a gain per document."""
    names = [measure.NAME for measure in registered_measures() if _has_gain(measure)]
    measures = ", ".join(names)
    return MultiAspectError(
        f"expected a measure with a gain per document ({measures}), {SCALED_SUM!r}, the name "
        f"of an aspect or an Order to aggregate labels, got {shown(target)}. Train on one of "
        "these; ranking_scorer selects models by any measure"
    )


def target_gains(judgments: Judgments, measure: Measure) -> Floats:
    """Return the gain of each judged document that `measure` sums, or raise an error."""
    gain = measure.document_gain(judgments)
    if gain is None:
        raise _no_gain_error(measure)
    return gain


class RejectedTarget:
    """A target with parameters that it does not accept, kept until `fit` raises the error.

    As scikit-learn's own estimators do, `set_params` stores values and `fit` validates them, so
    that in a search an invalid candidate fails alone.
    """

    def __init__(self, target: object, params: Mapping[str, Any]) -> None:
        self.target = target
        self.params = dict(params)

    def __repr__(self) -> str:
        params = [f"{name}={value!r}" for name, value in self.params.items()]
        return f"{self.target!r} with {', '.join(params)}"

    def bind(self) -> Measure:
        """Return the measure with its parameters, which raises the error."""
        return read_target(self.target)(**self.params)


def nested_params(target: object) -> dict[str, Any]:
    """Return the parameters of the measure of a target; empty for aspects and orders."""
    if isinstance(target, RejectedTarget):
        accepted_params = nested_params(target.target)
        return accepted_params | target.params
    measure: Any = target
    if isinstance(target, parsing.MeasureName):
        measure = target.measure
    elif isinstance(target, str):
        measure = _measure_of_name(target)
    has_params = hasattr(measure, "SUPPORTED_PARAMS")  # unlike orders and None
    if not has_params:
        return {}
    return {name: measure[name] for name in measure.SUPPORTED_PARAMS}


def _measure_of_name(name: str) -> Measure | None:
    """Return the measure with a name, or None for the scaled sum, an aspect or an invalid name."""
    if name == SCALED_SUM or _is_aspect(name):
        return None
    try:
        return read_target(name)
    except MultiAspectError:
        return None  # fit raises the error


def with_params(target: object, params: Mapping[str, Any]) -> object:
    """Return a new target with the given parameters of its measure.

    It is a `RejectedTarget` if the measure does not accept the values.
    """
    if isinstance(target, RejectedTarget):
        params = {**target.params, **params}
        target = target.target
    known_params = nested_params(target)
    if not known_params:
        raise MultiAspectError(
            f"target {target!r} is not a measure and has no parameters {choices(params)}"
        )
    measure = read_target(target)
    refuse_unknown(params, known_params, f"parameters of {measure.NAME}", "target")
    try:
        return measure(**params)
    except MultiAspectError:
        return RejectedTarget(target, params)
