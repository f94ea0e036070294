"""A check of measures for properties, with a table of verdicts as its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from ..._validation import count, random_seed
from ...aspects import Aspects, parse_aspects
from ...errors import MultiAspectError, choices, refuse_unknown, shown
from ...integration import parsing
from ...integration.parsing import Measures
from ...measures import Measure
from ._report import AxiomCheck, CounterExample
from ._search import Search
from ._worlds import Bound, check_grades
from .desiderata import ALL_PROPERTIES
from .properties import Property

#: The statement of each property, as `check` tests it.
PROPERTIES: Mapping[str, str] = MappingProxyType({rule.name: rule.statement for rule in ALL_PROPERTIES})

#: The limit of `documents`, as all permutations of a world are evaluated.
MOST_DOCUMENTS = 6

_DEFAULT_ASPECTS: Mapping[str, int] = MappingProxyType({"relevance": 2, "credibility": 2})


def check(
    measures: Measures,
    aspects: Aspects | Mapping[str, Any] | str = _DEFAULT_ASPECTS,
    *,
    properties: str | Sequence[str] | None = None,
    trials: int = 10_000,
    seed: int = 0,
    documents: int = 5,
) -> AxiomCheck:
    """Search for counterexamples to properties that multi-aspect measures are expected to have.

    Parameters
    ----------
    measures : measure, str, sequence of these or mapping
        Multi-aspect measures of this package; a mapping is ``{label: measure}``. A measure with its own
        declared aspects, or with an `Order`, is checked on those, all other measures on `aspects`.
    aspects : Aspects, mapping or str, default {'relevance': 2, 'credibility': 2}
        The scales of the labels, as for measures. All grades must be declared.
    properties : str or sequence of str, optional
        Names from `PROPERTIES`. All by default.
    trials : int, default 10000
        Maximum number of trials per property. Small worlds are enumerated, larger ones sampled.
    seed : int, default 0
        Random seed of the sampled worlds. The same seed gives the same result.
    documents : int from 1 to 6, default 5
        Maximum number of documents per world.

    Returns
    -------
    AxiomCheck
        ``table`` contains the verdicts: 'holds' if no trial violates the property; 'ties' if the property
        requires a difference and some scores are equal, but none are in the wrong order; 'fails'; 'n/a' if the
        property does not apply to the measure. ``results`` contains the numbers of trials, and
        ``example(measure, property)`` returns the smallest counterexample or tie.

    Raises
    ------
    MultiAspectError
        If a measure is not a multi-aspect measure or lacks a required parameter, an aspect declares no
        grades, a property is unknown or requires more aspects, or a number is out of range.

    Notes
    -----
    The desiderata D1–D8 of Lioma et al. (2017) are informal. `PROPERTIES` states our interpretation of each;
    others are possible. Equations 1 and 4 are from Maistro et al. (2021), as is the question of which values are
    attainable (§4.2). 'holds' means that no counterexample was found, which is not a proof.
    ``results["complete"]`` is the number of documents up to which all worlds were tried. Scores that differ by at
    most 1e-9 are equal. For measures where lower is better, the expectations are reversed.

    D1–D4 and D8 are about *chains*, documents that are sorted on all aspects at once, so that their ideal
    order is not in question.

    Stability: provisional. The properties are our interpretation of the literature, and more may follow.

    References
    ----------
    - C. Lioma, J. G. Simonsen, B. Larsen. Evaluation Measures for Relevance and Credibility in Ranked
      Lists. ICTIR 2017, §3.
    - M. Maistro, L. C. Lima, J. G. Simonsen, C. Lioma. Principled Multi-Aspect Evaluation Measures of
      Rankings. CIKM 2021, Eq. 1 and 4, §4.2.

    Examples
    --------
    >>> from pt_multiaspect import CAM, TOMA
    >>> result = check([TOMA, CAM], properties=["Eq. 1", "1 attainable", "swap"], trials=500)
    >>> result.table
         Eq. 1 1 attainable   swap
    TOMA holds        holds  holds
    CAM  holds        fails  holds
    >>> result.example(CAM, "1 attainable")
    CAM, 1 attainable: fails
    ------------------------
    rank   relevance  credibility
    1      0          1
    score  0.5000
    <BLANKLINE>
    This is the best order of these documents. It should score 1, but does not.
    """
    declared = parse_aspects(aspects)
    if not isinstance(declared, Aspects):
        raise MultiAspectError(
            "aspects: expected declared grades, as in {'relevance': 2, 'credibility': 2}, or the name of declared "
            f"aspects ({choices(Aspects.registry)}), got {shown(aspects)}"
        )
    check_grades(declared)
    trials, seed, documents = count("trials")(trials), random_seed(seed), count("documents")(documents)
    if documents > MOST_DOCUMENTS:
        raise MultiAspectError(
            f"documents: expected at most {MOST_DOCUMENTS}, as all orders of a world are evaluated, got {documents}"
        )
    rules = _rules(properties, declared)
    rows: list[tuple[object, ...]] = []
    examples: dict[tuple[str, str], CounterExample] = {}
    searches: dict[tuple[str, str], Search] = {}
    refused: dict[str, str] = {}
    for name, measure in _measures(measures).items():
        try:
            bound = Bound(name, measure, declared)
        except MultiAspectError as error:
            refused[name] = str(error)
            rows += [(name, rule.name, "n/a", 0, 0, 0, 0, str(error)) for rule in rules]
            continue
        for rule in rules:
            if len(bound.space) < rule.least_aspects:
                reason = f"the property requires {rule.least_aspects} aspects"
                rows.append((name, rule.name, "n/a", 0, 0, 0, 0, reason))
                continue
            key = (bound.aspects.to_json(), rule.name)
            if key not in searches:
                searches[key] = Search(rule, bound.space, trials=trials, seed=seed, documents=documents)
            search = searches[key]
            finding = search.finding(bound)
            complete = search.complete if finding.trials else 0
            rows.append((name, rule.name, *finding[:4], complete, finding.reason))
            if finding.failed:
                refused.setdefault(name, finding.reason)
            if finding.example is not None:
                examples[name, rule.name] = finding.example
    columns = ["measure", "property", "verdict", "trials", "violations", "ties", "complete", "reason"]
    results = pd.DataFrame(rows, columns=columns)
    order = [rule.name for rule in rules]
    table = results.pivot(index="measure", columns="property", values="verdict")
    table = table.loc[results["measure"].unique(), order].rename_axis(index=None, columns=None)
    return AxiomCheck(
        table, results, declared, trials, seed, documents, MappingProxyType(examples), MappingProxyType(refused)
    )


def _rules(properties: object, declared: Aspects) -> list[Property]:
    if properties is None:
        return list(ALL_PROPERTIES)
    names = [properties] if isinstance(properties, str) else properties
    wanted = list(names) if isinstance(names, Iterable) else [names]
    refuse_unknown(wanted or ["none"], PROPERTIES, "names", "properties")
    rules = [rule for rule in ALL_PROPERTIES if rule.name in wanted]
    for rule in rules:
        if len(declared) < rule.least_aspects:
            raise MultiAspectError(
                f"aspects: expected {rule.least_aspects} for {rule.name}, got only {choices(declared)}"
            )
    return rules


def _measures(measures: object) -> dict[str, Measure]:
    """Return measures by name; strings keep the user's spelling."""
    result: dict[str, Measure] = {}
    for label, measure in parsing.parse_all(measures).items():
        if getattr(measure, "SINGLE_ASPECT", True):  # as all measures of ir-measures are
            text = str(measure)
            raise MultiAspectError(
                f"expected a multi-aspect measure, got {text}. Use CAM(base={text!r}), TOMA(base={text!r}), or "
                f"On(aspect='credibility', base={text!r}) for one aspect"
            )
        measure.validate_params()
        result[label] = measure
    return result
