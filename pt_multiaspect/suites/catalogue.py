"""The suites by name, and the tracks whose settings are not known well enough to offer one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ..aspects import Aspects
from ..errors import MultiAspectError, choices, did_you_mean, shown
from ..groups.groups import Groups
from .definition import Suite
from .misinfo import misinfo_2020, misinfo_2020_recall, misinfo_2021, misinfo_2022
from .other_tracks import clef_ehealth_2015, fair_2022, fairweb_1, touche_2021
from .recommended import multi_aspect

__all__ = ["NOT_OFFERED", "SUITES", "list_suites", "settings_of", "suite"]

#: The factory and the title of each suite.
SUITES: dict[str, tuple[Callable[..., Suite], str]] = {
    "multi-aspect": (multi_aspect, "our recommendation for a paper"),
    "trec-misinfo-2020": (misinfo_2020, "TREC Health Misinformation 2020, ad hoc task"),
    "trec-misinfo-2020-recall": (misinfo_2020_recall, "TREC Health Misinformation 2020, total recall task"),
    "trec-misinfo-2021": (misinfo_2021, "TREC Health Misinformation 2021"),
    "trec-misinfo-2022": (misinfo_2022, "TREC Health Misinformation 2022, web retrieval task"),
    "trec-fair-2022": (fair_2022, "TREC Fair Ranking 2022, coordinator task"),
    "clef-ehealth-2015": (clef_ehealth_2015, "CLEF eHealth 2015, task 2"),
    "touche-2021": (touche_2021, "Touché 2021, tasks 1 and 2"),
    "ntcir-17-fairweb-1": (fairweb_1, "NTCIR-17 FairWeb-1"),
}

#: Tracks with several judged aspects that have no suite, and the reason.
NOT_OFFERED: dict[str, str] = {
    "trec-decision-2019": "the options of its extended trec_eval (NLRE, nWCS and CAM of two and three aspects) and "
    "the numeric codes of effectiveness and credibility are unknown",
    "trec-fair-2021": "it cuts runs to 20 documents, but the ideal ranking of nDCG at 1000, which no measure here "
    "does. Cut the runs to 20 documents per query, and evaluate AWRF(groups=...)@1000 and AWRF(groups=..., "
    "score='track')@1000",
    "clef-ehealth-2016": "how the file that combines understandability and trustworthiness was made is unknown. "
    "For understandability alone, uRBP(p=0.8, aspects={'relevance': 1, 'understandability': Aspect(100, "
    "threshold=50)}) is the official uRBP, on relevance mapped to 0 and 1",
    "clef-ehealth-2017": "the persistence of RBP and the gain curve of uRBP's alpha are unknown",
    "clef-ehealth-2018": "the persistence of RBP and the measures of most subtasks are unknown",
    "clef-ehealth-2020": "its measures and settings are unknown",
    "clef-ehealth-2021": "its measures are unknown",
    "touche-2022-task-1": "the depth of its nDCG is known from the usage line of the script only, 5. Where that is "
    "right, evaluate On(aspect=..., base='nDCG')@5 for relevance, quality and coherence",
    "touche-2022-task-2": "the settings of its stance classification are unknown. For relevance and quality, see "
    "touche-2021",
    "touche-2022-task-3": "it measures the fraction of 20 images that are on topic, argumentative and of the right "
    "stance, from three judgments per image and stance, which are not label columns",
    "trec-product-search-2023": "it judges one aspect",
    "lilas-2020": "it judges no documents: systems are compared by clicks on interleaved results",
    "lilas-2021": "it judges no documents: systems are compared by clicks on interleaved results",
}


def suite(
    name: str,
    *,
    aspects: Aspects | Mapping[str, Any] | str | None = None,
    groups: Groups | str | None = None,
    divergence: str | Mapping[str, str] | None = None,
) -> Suite:
    """Return the measures of a published track, with its organisers' settings, or those recommended for a paper.

    Parameters
    ----------
    name : str
        ``'multi-aspect'`` is our recommendation. `pt_multiaspect.suites.list_suites` lists all names.
    aspects : Aspects, mapping or str, optional
        The label scales, for ``'multi-aspect'``, which requires them. Tracks have their own.
    groups : Groups or str, optional
        The groups of documents, for the fairness tracks, which require them.
    divergence : str or dict of str to str, optional
        The divergence of each dimension of the groups, see `GFR`, for ``'ntcir-17-fairweb-1'``, which requires it.

    Returns
    -------
    Suite
        Measures by label, accepted wherever measures are: ``evaluate(runs, qrels, suite(name))``. Print
        it to see the columns that the qrels must have, the topics of the official means, and differences from the
        official values. For `pt.Experiment`, which takes lists, pass ``list(suite(name).values())``;
        its means are over all judged topics.

    Raises
    ------
    MultiAspectError
        If there is no such suite, a setting is missing, or the suite does not take it. For tracks whose settings
        are not known, the message says what is unknown.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {"d1": {"relevance": 2, "correctness": 2}, "d2": {"relevance": 1, "correctness": 0}},
    ...     "q2": {"d1": {"relevance": 1, "correctness": 2}},
    ... }
    >>> run = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}}
    >>> values = ma.evaluate({"run": run}, qrels, ma.suite("trec-misinfo-2022"), progress=False)
    >>> values[values["measure"] == "P@10 useful and incorrect"]  # not of q2, which has no incorrect document
      name qid                    measure  value
    4  run  q1  P@10 useful and incorrect    0.1
    >>> round(ma.aggregate(values)["nDCG useful and correct"].item(), 4)
    0.8155
    """
    known = settings_of(name)
    arguments = {"aspects": aspects, "groups": groups, "divergence": divergence}
    settings = {key: value for key, value in arguments.items() if value is not None}
    unknown = [key for key in settings if key not in known]
    if unknown:
        raise MultiAspectError(f"suite({name!r}) takes no {choices(unknown)}; omit it")
    return SUITES[name][0](**settings)


def settings_of(name: str) -> tuple[str, ...]:
    """Return the names of the settings of a suite, all of which are required.

    Parameters
    ----------
    name : str
        The name of a suite.

    Returns
    -------
    tuple of str

    Raises
    ------
    MultiAspectError
        If there is no such suite.
    """
    if not isinstance(name, str):
        raise MultiAspectError(f"suite: expected a name ({choices(SUITES)}), got {shown(name)}")
    if name in NOT_OFFERED:
        raise MultiAspectError(f"there is no suite for {name}: {NOT_OFFERED[name]}")
    if name not in SUITES:
        raise MultiAspectError(
            f"unknown suite {name!r}: expected {choices(SUITES)}{did_you_mean([name], [*SUITES, *NOT_OFFERED])}"
        )
    return tuple(inspect.signature(SUITES[name][0]).parameters)


def list_suites() -> pd.DataFrame:
    """List the suites, and the tracks without one.

    Returns
    -------
    DataFrame
        Columns ``name``, ``title``, ``requires``, the settings of `suite` that are required, and
        ``unknown``: empty for a suite, else the reason why there is none.

    Examples
    --------
    >>> from pt_multiaspect.suites import list_suites
    >>> list_suites()[["name", "requires"]].head(3)
                           name requires
    0              multi-aspect  aspects
    1         trec-misinfo-2020
    2  trec-misinfo-2020-recall
    """
    offered = [(name, title, ", ".join(settings_of(name)), "") for name, (_, title) in SUITES.items()]
    others = [(name, "", "", reason) for name, reason in NOT_OFFERED.items()]
    return pd.DataFrame([*offered, *others], columns=["name", "title", "requires", "unknown"])
