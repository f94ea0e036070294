"""The door: measures and properties in, a table of verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
from ir_measures import Measure

from ...aspects import Aspects, parse_aspects
from ...errors import MultiAspectError, choices
from ...integration import parsing
from ...measures import MultiAspectMeasure, SingleAspectMeasure
from .._frames import check_count, check_seed
from ._asking import Bound, check_grades
from ._properties import ALL, PROPERTIES, Property
from ._report import AxiomCheck, CounterExample
from ._search import Search

#: All permutations of a world are evaluated.
MOST_DOCUMENTS = 6

_DEFAULT_ASPECTS: Mapping[str, int] = MappingProxyType({"relevance": 2, "credibility": 2})


def check(
    measures: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
    aspects: Aspects | Mapping[str, Any] | str = _DEFAULT_ASPECTS,
    *,
    properties: str | Sequence[str] | None = None,
    trials: int = 10_000,
    seed: int = 0,
    documents: int = 5,
) -> AxiomCheck:
    """Search for counter-examples to the properties that multi-aspect measures are said to have.

    Parameters
    ----------
    measures : measure, str, sequence of these or mapping
        Multi-aspect measures of this package; a mapping is ``{label: measure}``. One with declared aspects of its
        own, or an `Order`, is asked on these, all others on `aspects`.
    aspects : Aspects, mapping or str, default {'relevance': 2, 'credibility': 2}
        The scales of the labels: as measures take them, with declared grades.
    properties : str or sequence of str, optional
        Some of `PROPERTIES`; all by default.
    trials : int, default 10000
        How many trials a property gets at the most. Worlds of few documents are tried one and
        all as far as that allows, then larger ones at random.
    seed : int, default 0
        The seed of the random worlds; the same seed gives the same result.
    documents : int from 1 to 6, default 5
        How many documents a world has at the most.

    Returns
    -------
    AxiomCheck
        Its ``table`` has the verdicts: 'holds' in all trials; 'ties' if the property asks for a
        difference and scores are never the wrong way round, but sometimes equal; 'fails'; 'n/a' where
        the measure cannot be asked. ``results`` has the numbers, and ``example(measure, property)``
        the smallest counter-example, or tie.

    Raises
    ------
    MultiAspectError
        If something is no multi-aspect measure or lacks a required parameter, an aspect declares no grades,
        a property is not known or needs more aspects than there are, or a number is out of range.

    Notes
    -----
    The desiderata D1–D8 of Lioma et al. are informal. `PROPERTIES` has our reading of each, and
    other readings are possible. 'holds' says that no counter-example was found, which is no
    proof; ``results["complete"]`` tells up to how many documents all worlds were tried. Scores that differ
    by at most 1e-9 are equal. Measures of which small values are good are turned.

    D1–D4 and D8 look at *chains*: documents sorted on every aspect at once, so that nobody can doubt
    which order is ideal.

    References
    ----------
    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, §3. Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of
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
    rank   relevance  credibility
    1      0          1
    score  0.5000
    This is the best order of these documents, so it should score 1; it does not.
    """
    declared = parse_aspects(aspects)
    if not isinstance(declared, Aspects):
        raise MultiAspectError(
            f"aspects declare grades, as {{'relevance': 2, 'credibility': 2}} or the name of a declared set "
            f"({choices(Aspects.registry)}); not {aspects!r}"
        )
    check_grades(declared)
    trials, seed, documents = check_count("trials", trials), check_seed(seed), check_count("documents", documents)
    if documents > MOST_DOCUMENTS:
        raise MultiAspectError(
            f"documents is at most {MOST_DOCUMENTS}, as all orders of a world are looked at, not {documents}"
        )
    rules = _rules(properties, declared)
    rows: list[tuple[object, ...]] = []
    examples: dict[tuple[str, str], CounterExample] = {}
    searches: dict[tuple[str, str], Search] = {}
    for name, measure in _measures(measures).items():
        try:
            bound = Bound(name, measure, declared)
        except MultiAspectError as error:
            rows += [(name, rule.name, "n/a", 0, 0, 0, 0, str(error)) for rule in rules]
            continue
        for rule in rules:
            if len(bound.space) < rule.least_aspects:
                reason = f"it needs {rule.least_aspects} aspects"
                rows.append((name, rule.name, "n/a", 0, 0, 0, 0, reason))
                continue
            key = (bound.aspects.to_json(), rule.name)
            if key not in searches:
                searches[key] = Search(rule, bound.space, trials=trials, seed=seed, documents=documents)
            search = searches[key]
            found = search.finding(bound)
            complete = search.complete if found.trials else 0
            rows.append((name, rule.name, *found[:4], complete, found.reason))
            if found.example is not None:
                examples[name, rule.name] = found.example
    columns = ["measure", "property", "verdict", "trials", "violations", "ties", "complete", "reason"]
    results = pd.DataFrame(rows, columns=columns)
    order = [rule.name for rule in rules]
    table = results.pivot(index="measure", columns="property", values="verdict")
    table = table.loc[results["measure"].unique(), order].rename_axis(index=None, columns=None)
    return AxiomCheck(table, results, declared, trials, seed, documents, MappingProxyType(examples))


def _rules(properties: object, declared: Aspects) -> list[Property]:
    if properties is None:
        return list(ALL)
    given = [properties] if isinstance(properties, str) else properties
    if not isinstance(given, Iterable):
        raise MultiAspectError(f"properties are names such as {choices(PROPERTIES)}; not {properties!r}")
    wanted = list(given)
    unknown = [each for each in wanted if not isinstance(each, str) or each not in PROPERTIES]
    if unknown or not wanted:
        raise MultiAspectError(f"unknown properties {choices(unknown)}; there are {'; '.join(PROPERTIES)}")
    rules = [rule for rule in ALL if rule.name in wanted]
    for rule in rules:
        if len(declared) < rule.least_aspects:
            raise MultiAspectError(
                f"{rule.name} is about {rule.least_aspects} aspects, but there is only {choices(declared)}"
            )
    return rules


def _measures(measures: object) -> dict[str, MultiAspectMeasure]:
    """Measures by the names they go by; strings keep the user's."""
    result: dict[str, MultiAspectMeasure] = {}
    for label, measure in parsing.parse_all(measures).items():
        if not isinstance(measure, MultiAspectMeasure) or isinstance(measure, SingleAspectMeasure):
            text = str(measure)
            raise MultiAspectError(
                f"{text} measures one aspect; say which by On(aspect='credibility', base={text!r}), or make it "
                f"one of several, as by CAM(base={text!r}) or TOMA(base={text!r})"
            )
        measure.validate_params()
        result[label] = measure
    return result
