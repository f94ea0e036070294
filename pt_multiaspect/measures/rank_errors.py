"""Rank errors: NLRE and NGRE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from .._typing import Floats
from .._validation import real
from ..aspects import aspect_name
from ..collection import AspectView, Rankings
from ..errors import MultiAspectError, choices, refuse_unknown
from ..kernels import rank_errors
from ..kernels.breakdown import Breakdown
from ..kernels.hits import Hits
from .measure import DirectMeasure
from .parameters import COMMON, Param
from .registry import register

_DEFAULT = 0.5


def _constant(name: str) -> Callable[[Any], float]:
    """Return the parser of a constant of this name."""
    return real(name, low=0, high=1e50)  # keeps products of six constants finite


def _parse_mu(mu: Any) -> float | dict[str, float]:
    """Return the constant of the first aspect, or the constants by aspect, in alphabetical order."""
    read_constant = _constant("mu")  # a function; its errors name the parameter
    if not isinstance(mu, Mapping):
        return read_constant(mu)
    if not mu:
        raise MultiAspectError("expected at least one constant in mu, got an empty dict")
    constants: dict[str, float] = {}
    for name, value in mu.items():
        constants[aspect_name(name)] = read_constant(value)
    return dict(sorted(constants.items()))


class _RankErrors(DirectMeasure):
    """1 - rank error / maximum rank error."""

    SOURCES = ("lioma2017",)
    #: The function that returns the values, and the one that returns them as sums over ranks. Both
    #: are called with the result of `_errors`.
    _VALUES: ClassVar[Any]
    _BREAKDOWN: ClassVar[Any]

    SUPPORTED_PARAMS = {
        "mu": Param(
            _parse_mu,
            _DEFAULT,
            "the constant of the first aspect, or a dict of constants by aspect",
        ),
        "nu": Param(_constant("nu"), _DEFAULT, "the constant of the second aspect"),
        **COMMON,
    }

    def _check(self) -> None:
        """Raise an error if constants are given twice, or all are 0."""
        mu, nu = self["mu"], self["nu"]
        if isinstance(mu, dict):
            if nu != _DEFAULT:
                raise MultiAspectError(
                    f"{self.NAME}: mu is a dict and sets the constants of all aspects; omit nu"
                )
        elif mu + nu == 0:
            raise MultiAspectError(f"{self.NAME}: mu and nu must not both be 0")

    def _check_names(self, names: Sequence[str]) -> None:
        self._constants(names)

    def _constants(self, names: Sequence[str]) -> list[float]:
        """Return the constant of each aspect: by name, or μ, ν and the default by position."""
        mu = self["mu"]
        if isinstance(mu, dict):
            refuse_unknown(mu, names, "constants in mu for the evaluated aspects", self.NAME)
            constants = [mu.get(name, _DEFAULT) for name in names]
        else:
            # μ is of the first aspect, ν of the second, and the default of further ones. A single
            # aspect has μ only.
            n_further = len(names) - 2
            by_position = [mu, self["nu"], *[_DEFAULT] * n_further]
            constants = by_position[: len(names)]
        if not any(constants):
            raise MultiAspectError(
                f"{self.NAME}: at least one constant of {choices(names)} must be positive"
            )
        return constants

    def depends_on(self, view: AspectView) -> bool:
        return False  # only the order of grades matters

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the value of each query, by the function of the class, `_VALUES`."""
        hits, errors_by_aspect, constants = self._errors(rankings, views)
        values: Floats = self._VALUES(hits, errors_by_aspect, constants)
        return values

    def _breakdown(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Breakdown:
        """Return the values as sums over ranks, with a column of the errors on each aspect.

        `self._BREAKDOWN` is the function of LRE, or of GRE, that returns the sums. The errors on an
        aspect are those of the hits, the judged documents of the run. A column has all retrieved
        documents, also unjudged ones, whose error is 0.
        """
        hits, errors_by_aspect, constants = self._errors(rankings, views)
        breakdown: Breakdown = self._BREAKDOWN(hits, errors_by_aspect, constants)
        columns: dict[str, Floats] = {}
        for view, errors_of_hits in zip(views, errors_by_aspect, strict=True):
            columns[f"{view.name} error"] = hits.spread(errors_of_hits)
        return replace(breakdown, columns=columns)

    def _errors(
        self, rankings: Rankings, views: tuple[AspectView, ...]
    ) -> tuple[Hits, list[Floats], list[float]]:
        """Return the ranks that count, the errors of each aspect, and its constant."""
        hits = rankings.top(self.cutoff)
        errors_by_aspect: list[Floats] = []
        for view in views:
            key = ("rank errors", view, self.cutoff)
            compute_errors = partial(rank_errors.errors, hits, view.grade)
            errors = rankings.compute_once(key, compute_errors)
            errors_by_aspect.append(errors)
        names = [view.name for view in views]
        # As floats: NumPy cannot represent integers beyond 64 bits.
        constants = [float(constant) for constant in self._constants(names)]
        return hits, errors_by_aspect, constants


class _NLRE(_RankErrors):
    """Normalised local rank error: adjacent documents in the wrong order, discounted by rank.

    NLRE = 1 - LRE / C with LRE = Σ_i (Π_a (μ_a + ε_a(i)) - Π_a μ_a) / log2(1 + i). The error ε_a(i)
    is the difference of the ideal positions, on aspect a, of the retrieved documents at ranks i and
    i + 1 if they are in the wrong order, else 0. C is the maximum of LRE over rankings of the same
    length. Values are between 0 and 1 (no errors).

    Parameters
    ----------
    mu : float >= 0 or dict of str to float, default 0.5
        The constant of the first aspect, or a dict of constants by aspect (0.5 for omitted
        aspects). Increasing it increases the cost of errors on the *other* aspects; see Notes.
    nu : float >= 0, default 0.5
        The constant of the second aspect. The constants of further aspects are 0.5.
    aspects : Aspects, mapping or str, optional
        The aspects; only the order of their grades matters. By default, every label column.
    cutoff : int, optional
        ``NLRE @ k`` evaluates only the first k retrieved documents.

    Notes
    -----
    Documents with equal grades keep their order in the ideal order, so they are never in error. The
    product in Eq. 4 expands to ε_r ε_c + ν ε_r + μ ε_c: contrary to the paper's wording, ν weights
    the errors on relevance, and with ν = 0 an error on relevance alone has no cost. Rankings of one
    document score 1, empty rankings 0. Values approach 1 as the number of aspects increases: only
    compare values with the same number of aspects.

    With two aspects, values agree with ``nlre`` in the official evaluator of the TREC Health
    Misinformation tracks (Trec_eval_extension); in strings, ``nlre`` is NLRE. With three aspects,
    that evaluator normalises ``nlre_three`` by Σ m³ + (μ + ν + ξ) m, which is not the maximum
    error, so its values differ. Here the worst ranking scores 0.

    References
    ----------
    As in Lioma et al. 2017, Table 3: ``NLRE(mu=0.5, nu=0.5)``, the default. The printed .8262 does
    not come out, as its treatment of ties is unknown.

    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 1-6.

    Examples
    --------
    >>> from pt_multiaspect import NLRE
    >>> qrels = {"q1": {"d1": {"relevance": 0, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 0}}}
    >>> round(NLRE.calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.75
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> explanation = NLRE.explain(run, qrels, "q1")
    >>> columns = ["docno", "relevance error", "credibility error", "contribution"]
    >>> explanation.ranks[columns].round(3)
      docno  relevance error  credibility error  contribution
    0    d1              0.0                0.0          0.00
    1    d2              1.0                0.0         -0.25
    >>> round(explanation.offset, 3)
    1.0
    """

    PRETTY_NAME = "Normalised local rank error"
    SHORT_DESC = (
        "Penalises adjacent documents in the wrong order; errors are multiplied at each rank."
    )
    CITATION = "Lioma et al. 2017, Eq. 4-6"
    _VALUES = staticmethod(rank_errors.nlre)
    _BREAKDOWN = staticmethod(rank_errors.nlre_breakdown)


class _NGRE(_RankErrors):
    """Normalised global rank error: adjacent documents in the wrong order, summed per aspect.

    NGRE = 1 - GRE / C with GRE = Π_a (1 + μ_a S_a) - 1, where S_a is the discounted sum of the
    errors of aspect a (see `NLRE`) and C is the maximum of GRE over rankings of the same length.
    Values are between 0 and 1 (no errors).

    Parameters
    ----------
    mu, nu, aspects, cutoff : as in NLRE
        See `NLRE`. In NGRE, mu is the cost of errors on the first aspect, nu that of errors on the
        second.

    References
    ----------
    As in Lioma et al. 2017, Table 3: ``NGRE(mu=0.5, nu=0.5)``, the default. The printed .6919 does
    not come out, as its treatment of ties is unknown.

    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 7-9.

    Examples
    --------
    >>> from pt_multiaspect import NGRE
    >>> qrels = {"q1": {"d1": {"relevance": 0, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 0}}}
    >>> round(NGRE.calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.6
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> explanation = NGRE.explain(run, qrels, "q1")
    >>> columns = ["docno", "relevance error", "credibility error", "contribution"]
    >>> explanation.ranks[columns].round(3)
      docno  relevance error  credibility error  contribution
    0    d1              0.0                0.0           0.0
    1    d2              1.0                0.0          -0.4
    >>> round(explanation.offset, 3)
    1.0
    """

    PRETTY_NAME = "Normalised global rank error"
    SHORT_DESC = "Penalises adjacent documents in the wrong order; sums per aspect are multiplied."
    CITATION = "Lioma et al. 2017, Eq. 7-9"
    _VALUES = staticmethod(rank_errors.ngre)
    _BREAKDOWN = staticmethod(rank_errors.ngre_breakdown)


NLRE = register(_NLRE)
NGRE = register(_NGRE)
