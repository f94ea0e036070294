"""Plan of an evaluation: judgments and measures, prepared once for any number of runs."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure as AnyMeasure

from .._typing import Bools, Floats
from ..bases.delegated import (
    check_functions,
    first_fraction,
    qrels_inputs,
    reads_relevance,
    run_inputs,
)
from ..bases.pickling import pickle_with_code
from ..bases.standard import DiversityMeasures, StandardMeasures, is_diversity_measure
from ..collection import Judgments, Rankings
from ..collection.overlap import single_documents, warn_of_missing_topics
from ..errors import (
    Cause,
    MultiAspectError,
    choices,
    collect_warnings,
    refuse_unknown,
    silence_warnings,
    warn_once_of,
)
from ..integration.provider import supports
from ..io.runs import join
from ..measures.toma import warn_of_missing_gates
from .long_frames import COLUMNS
from .topics import JUDGED, counted_topics

#: Plans by key that this process has received.
_plans: dict[str, Plan] = {}

#: The maximum number of plans that a process keeps.
_MOST_PLANS = 2


@dataclass(frozen=True, eq=False)
class Outcome:
    """The values of one run."""

    name: str
    #: Shape (n_measures, n_queries).
    values: Floats
    #: The warnings to issue.
    causes: list[Cause]
    #: The document of each topic if there is only one, see `single_documents`.
    documents: Mapping[str, str]


class Plan:
    """Measures of this package and of ir-measures, ready to evaluate runs against judgments.

    Parameters
    ----------
    judgments : Judgments
        The judged pairs.
    labelled : mapping of str to Measure
        The measures by label.
    average_over : {'judged', 'positive'}, default 'judged'
        The topics that count for each measure; see `pt_multiaspect.evaluate`.

    Raises
    ------
    MultiAspectError
        If a measure lacks a parameter, does not support the labels, or has no topic that counts.
    """

    def __init__(
        self,
        judgments: Judgments,
        labelled: Mapping[str, AnyMeasure],
        average_over: str = JUDGED,
    ) -> None:
        self.judgments = judgments
        self.labels = list(labelled)
        self.measures: list[AnyMeasure] = list(labelled.values())
        check_functions(self.measures)

        # Measures of this package, diversity measures and others are evaluated in different ways.
        measures_of_others: set[AnyMeasure] = set()
        for measure in self.measures:
            if supports(measure):
                measure.validate_params()
            else:
                measures_of_others.add(measure)
        diversity_measures = set(filter(is_diversity_measure, measures_of_others))
        standard_measures = measures_of_others - diversity_measures
        self._standard = _standard_measures(standard_measures, judgments)
        self._diversity: DiversityMeasures | None = None
        if diversity_measures:
            self._diversity = DiversityMeasures(diversity_measures, judgments)
        #: The columns of runs that measures read besides queries, documents and scores.
        self.run_columns = run_inputs(measures_of_others)

        counted_by_label = counted_topics(labelled, judgments, average_over)
        #: A mask of the queries that count for each measure, shape (n_measures, n_queries).
        self.counted: Bools = np.stack(list(counted_by_label.values()))
        #: The causes of warnings about the judgments that the evaluation of a run has issued.
        self._warned: set[Any] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_warned": set()}

    def evaluate(self, name: str, run: object) -> Outcome:
        """Evaluate a run, and collect the warnings.

        Parameters
        ----------
        name : str
            Name of the run.
        run : DataFrame, dict, iterable of namedtuples, path, open file or Run
            The run.
        """
        with collect_warnings() as causes:
            rankings = join(name, run, self.judgments, self.run_columns)
            is_retrieved = rankings.hits.n_ret > 0
            is_counted = np.any(self.counted, axis=0)  # each query, by some measure
            warn_of_missing_topics(self.judgments, is_retrieved, is_counted)
            values = self.values(rankings)
            warn_of_missing_gates(self.measures, self.judgments)
        return Outcome(name, values, causes, single_documents(rankings))

    def values(self, rankings: Rankings) -> Floats:
        """Return the values of a run that is joined with the judgments.

        Measures of ir-measures are computed together: those by subtopic by `self._diversity`, the
        others by `self._standard`; each is None without such measures. Measures of this package
        evaluate themselves.

        Returns
        -------
        ndarray of float, shape (n_measures, n_queries)
        """

        def distinct_rows() -> pd.DataFrame:
            """Return the run for users' functions, with the last row of each repeated document."""
            rows = rankings.source.to_pandas()
            return rows.drop_duplicates(["query_id", "doc_id"], keep="last")

        values: dict[AnyMeasure, Floats] = {}
        with warn_once_of(self._warned):
            if self._standard is not None:
                # The function is called only if a measure needs its result.
                standard_values = self._standard.values(rankings, distinct_rows)
                values.update(standard_values)
            if self._diversity is not None:
                diversity_values = self._diversity.values(rankings.frame_by_rank())
                values.update(diversity_values)
            for measure in self.measures:
                is_of_package = measure not in values
                if is_of_package:
                    values[measure] = measure.evaluate(rankings)
        return np.stack([values[measure] for measure in self.measures])

    def frame(self, names: list[str], values: list[Floats]) -> pd.DataFrame:
        """Return the long frame of runs, with the judged queries that count for each measure.

        Parameters
        ----------
        names : list of str
            The runs.
        values : list of ndarray of float, each of shape (n_measures, n_queries)
            The values of each run.
        """
        n_runs = len(names)
        qids_of_runs = [self.judgments.qids] * n_runs
        table = long_frame(names, self.labels, qids_of_runs, values)
        if self.counted.all():
            return table
        # Rows of a run are in the order of the flattened mask.
        is_counted = np.tile(self.counted.ravel(), n_runs)
        return table[is_counted].reset_index(drop=True)


def long_frame(
    names: list[str], labels: list[str], qids: Sequence[np.ndarray], values: list[Floats]
) -> pd.DataFrame:
    """Return a long frame: one row per run, measure and query.

    Parameters
    ----------
    names : list of str
        The runs.
    labels : list of str
        The measures.
    qids : sequence of ndarray of str
        The queries of each run.
    values : list of ndarray of float, each of shape (n_measures, n_queries)
        The values of each run.
    """
    measure_labels = np.array(labels, dtype=object)
    rows_per_run: list[int] = []
    qid_parts: list[np.ndarray] = []
    measure_parts: list[np.ndarray] = []
    value_parts: list[Floats] = []
    for run_qids, run_values in zip(qids, values, strict=True):
        # All queries of the first measure come first, as in the rows of `run_values`.
        qid_parts.append(np.tile(run_qids, len(labels)))
        measure_parts.append(np.repeat(measure_labels, len(run_qids)))
        value_parts.append(run_values.ravel())
        rows_per_run.append(run_values.size)
    run_names = np.array(names, dtype=object)
    columns = {
        "name": np.repeat(run_names, rows_per_run),
        "qid": np.concatenate(qid_parts),
        "measure": np.concatenate(measure_parts),
        "value": np.concatenate(value_parts),
    }
    return pd.DataFrame(columns)[COLUMNS]


def _standard_measures(measures: set[AnyMeasure], judgments: Judgments) -> StandardMeasures | None:
    """Prepare measures of ir-measures, which evaluate relevance; None if there are none."""
    if not measures:
        return None
    for measure in sorted(measures, key=str):
        columns = qrels_inputs([measure])
        refuse_unknown(columns, judgments.columns, "columns of the qrels", str(measure))
    # Measures that do not read relevance need no such column.
    labels = np.full(len(judgments), np.nan)
    if any(map(reads_relevance, measures)):
        labels = judgments.labels("relevance")
    _refuse_fractions(labels, measures)
    return StandardMeasures(measures, judgments, labels)


def _refuse_fractions(labels: Floats, measures: set[AnyMeasure]) -> None:
    """Raise an error if labels on relevance are not integers."""
    fraction = first_fraction(labels)
    if fraction is None:
        return
    names = choices(sorted(map(str, measures)))
    raise MultiAspectError(
        f"ir-measures supports integer relevance labels only, got {fraction:g}; use "
        f"On(base=...) to compute {names} on such labels, where possible"
    )


def pack_plan(plan: Plan) -> tuple[str, bytes]:
    """Return a key and the bytes of a plan, with the code of measures that a script defines."""
    content = pickle_with_code(plan)
    key = hashlib.sha256(content).hexdigest()
    return key, content


def unpack_plan(key: str, content: bytes) -> Plan:
    """Return a plan, restored once per process.

    Parameters
    ----------
    key : str
        The key of the plan, as returned by `pack_plan`.
    content : bytes
        The pickled plan.
    """
    received = _plans.get(key)
    if received is not None:
        return received
    # Another plan may have other scales of the same name, which is no reason for a warning here.
    with silence_warnings():
        plan: Plan = pickle.loads(content)
    _plans[key] = plan

    # Dictionaries are in the order of insertion: the last plans are kept.
    keys = list(_plans)
    for superseded in keys[:-_MOST_PLANS]:
        # Threads of the caller may add and remove others meanwhile.
        _plans.pop(superseded, None)
    return plan
