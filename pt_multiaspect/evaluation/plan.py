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
from .topics import TOPICS, counted_topics

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
        average_over: str = TOPICS[0],
    ) -> None:
        self.judgments = judgments
        self.labels = list(labelled)
        self.measures: list[AnyMeasure] = list(labelled.values())
        check_functions(self.measures)
        for measure in filter(supports, self.measures):
            measure.validate_params()
        others = {measure for measure in self.measures if not supports(measure)}
        diverse = set(filter(is_diversity_measure, others))
        self._standard = _standard(others - diverse, judgments)
        self._diverse: DiversityMeasures | None = None
        if diverse:
            self._diverse = DiversityMeasures(diverse, judgments)
        #: The columns of runs that measures read besides queries, documents and scores.
        self.run_columns = run_inputs(others)
        counted = counted_topics(labelled, judgments, average_over)
        #: A mask of the queries that count for each measure, shape (n_measures, n_queries).
        self.counted: Bools = np.stack(list(counted.values()))
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
            is_counted = np.any(self.counted, axis=0)
            warn_of_missing_topics(self.judgments, is_retrieved, is_counted)
            values = self.values(rankings)
            warn_of_missing_gates(self.measures, self.judgments)
        return Outcome(name, values, causes, single_documents(rankings))

    def values(self, rankings: Rankings) -> Floats:
        """Return the values of a run that is joined with the judgments, (n_measures, n_queries)."""

        def run() -> pd.DataFrame:
            # Measures computed here count the last row of each document of a query, so all measures
            # must.
            return rankings.source.to_pandas().drop_duplicates(["query_id", "doc_id"], keep="last")

        with warn_once_of(self._warned):
            values: dict[AnyMeasure, Floats] = {}
            if self._standard is not None:
                values.update(self._standard.values(rankings, run))
            if self._diverse is not None:
                values.update(self._diverse.values(rankings.frame_by_rank()))
            for measure in self.measures:
                if measure not in values:
                    values[measure] = measure.evaluate(rankings)
            return np.stack([values[measure] for measure in self.measures])

    def frame(self, names: list[str], values: list[Floats]) -> pd.DataFrame:
        """Return the long frame of runs, with the judged queries that count."""
        table = long_frame(names, self.labels, [self.judgments.qids] * len(names), values)
        if self.counted.all():
            return table
        return table[np.tile(self.counted.ravel(), len(names))].reset_index(drop=True)


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
    n_rows: list[int] = []
    qid_column: list[np.ndarray] = []
    measure_column: list[np.ndarray] = []
    for run_qids in qids:
        n_rows.append(len(labels) * len(run_qids))
        qid_column.append(np.tile(run_qids, len(labels)))
        measure_column.append(np.repeat(measure_labels, len(run_qids)))
    rows = {
        "name": np.repeat(np.array(names, dtype=object), n_rows),
        "qid": np.concatenate(qid_column),
        "measure": np.concatenate(measure_column),
        "value": np.concatenate([run_values.ravel() for run_values in values]),
    }
    return pd.DataFrame(rows)[COLUMNS]


def _standard(others: set[AnyMeasure], judgments: Judgments) -> StandardMeasures | None:
    """Prepare the measures of ir-measures, which evaluate relevance; None if there are none."""
    if not others:
        return None
    for measure in sorted(others, key=str):
        refuse_unknown(
            qrels_inputs([measure]), judgments.columns, "columns of the qrels", str(measure)
        )
    reads = any(map(reads_relevance, others))
    if reads:
        labels = judgments.labels("relevance")
    else:
        labels = np.full(len(judgments), np.nan)
    fraction = first_fraction(labels)
    if fraction is not None:
        raise MultiAspectError(
            f"ir-measures supports integer relevance labels only, got {fraction:g}; use "
            "On(base=...) to compute "
            f"{choices(sorted(map(str, others)))} on such labels, where possible"
        )
    return StandardMeasures(others, judgments, labels)


def pack_plan(plan: Plan) -> tuple[str, bytes]:
    """Return a key and the bytes of a plan, with the code of measures that a script defines."""
    content = pickle_with_code(plan)
    return hashlib.sha256(content).hexdigest(), content


def unpack_plan(key: str, content: bytes) -> Plan:
    """Return a plan, restored once per process."""
    known = _plans.get(key)
    if known is not None:
        return known
    with silence_warnings():  # about names of scales that another plan has, too
        plan: Plan = pickle.loads(content)
    _plans[key] = plan
    superseded = list(_plans)[:-_MOST_PLANS]
    for earlier_key in superseded:
        # Threads of the caller may add and remove others meanwhile.
        _plans.pop(earlier_key, None)
    return plan
