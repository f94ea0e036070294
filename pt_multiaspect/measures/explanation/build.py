"""Construction of explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..._validation import count
from ...collection.judgments import Judgments
from ...collection.rankings import Rankings
from ...collection.run import Run, about_run
from ...errors import MultiAspectError, choices, did_you_mean, shown, silenced
from ...io.runs import named_runs, read_if_file, titled
from ...strings.identifiers import identifiers
from .explanation import Explanation
from .parts import tolerance
from .topic import Topic

if TYPE_CHECKING:
    from ..measure import Measure

__all__ = ["explain"]

_check_depth = count("depth")


def explain(
    measure: Measure, run: object, qrels: object, qid: object, *, depth: int = 100, label: str | None = None
) -> Explanation:
    """Explain the value of a measure for one topic; see `Measure.explain`."""
    depth = _check_depth(depth)
    measure.validate_params()
    judgments = Judgments.of(qrels)
    name, frame = _one_run(run)
    query = _position(qid, judgments, frame, name)
    judged_qid = judgments.qids[query]
    of_query = frame[(frame["query_id"] == judged_qid).to_numpy(dtype=bool)]
    docnos, scores = Rankings(of_query, judgments).ranked(query)
    among_all = Topic(measure, judgments, query, judged_qid, name, docnos, scores, depth)
    value = among_all.value  # with the warnings of an evaluation
    with silenced():
        alone = among_all.alone()
        # A measure may use other topics, against the rules; then their judgments are kept.
        topic = alone if abs(alone.value - value) <= tolerance(value, 1e-12) else among_all
        return Explanation(topic, value, str(measure) if label is None else label)


def _one_run(run: object) -> tuple[str, pd.DataFrame]:
    """Return the name and the rows of a single run."""
    named = named_runs(run)
    if len(named) > 1:
        raise MultiAspectError(f"expected one run to explain, got {len(named)}: {choices(named)}")
    ((name, source),) = named.items()
    if name == "run 1":  # a run without a name
        name = "run"
    with about_run("run" if name == "run" else titled(name)):
        return name, Run.of(read_if_file(source)).to_pandas()


def _position(qid: object, judgments: Judgments, frame: pd.DataFrame, name: str) -> int:
    """Return the position of the topic among the judgments."""
    retrieved = np.asarray(frame["query_id"].unique(), dtype=object)
    if not (judgments.queries_of(retrieved) >= 0).any():
        raise MultiAspectError(
            f"run {name} and the qrels have no query in common: the qrels have queries such as "
            f"{choices(judgments.qids[:3])}, the run has queries such as {choices(retrieved[:3])}. Check the query "
            "ids"
        )
    if not np.isscalar(qid):
        raise MultiAspectError(f"qid: expected a topic of the qrels, such as {judgments.qids[0]}, got {shown(qid)}")
    (text,) = identifiers(pd.Series([qid], name="qid"), "explain")
    query = int(judgments.queries_of(np.array([text], dtype=object))[0])
    if query < 0:
        is_retrieved = " (it is in the run, but has no judgments)" if text in set(retrieved) else ""
        raise MultiAspectError(
            f"expected a topic of the qrels, such as {choices(judgments.qids[:3])}, got {text}{is_retrieved}"
            + did_you_mean([text], judgments.qids)
        )
    return query
