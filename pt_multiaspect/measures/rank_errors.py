"""Measures of displaced neighbours: NLRE, NGRE."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._typing import Floats
from .._validation import real
from ..aspects.aspects import aspect_name
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices
from ..kernels import rank_errors
from ..kernels.hits import Hits
from .measure import DirectMeasure
from .parameters import ASPECTS, CUTOFF, Param

__all__ = ["NGRE", "NLRE"]

_DEFAULT = 0.5


def _constant(name: str) -> Callable[[Any], float]:
    return real(name, low=0, high=1e50)  # so that products of six stay finite


def _parse_mu(mu: Any) -> float | dict[str, float]:
    if isinstance(mu, Mapping):
        if not mu:
            raise MultiAspectError("mu as a dict needs a constant per aspect")
        return dict(sorted((aspect_name(name), _constant("mu")(value)) for name, value in mu.items()))
    return _constant("mu")(mu)


class _RankErrors(DirectMeasure):
    """One less the rank errors against the ideal orders, over their greatest."""

    SUPPORTED_PARAMS = {
        "mu": Param(_parse_mu, _DEFAULT, "the constant of the first aspect, or a dict of one per aspect"),
        "nu": Param(_constant("nu"), _DEFAULT, "the constant of the second aspect"),
        "aspects": ASPECTS,
        "cutoff": CUTOFF,
    }

    def _check(self) -> None:
        mu, nu = self["mu"], self["nu"]
        if isinstance(mu, dict):
            if nu != _DEFAULT:
                raise MultiAspectError(f"{self.NAME}: mu as a dict has all constants; leave out nu")
        elif mu + nu == 0:
            raise MultiAspectError(f"{self.NAME}: mu and nu must not both be 0")

    def _check_names(self, names: Sequence[str]) -> None:
        self._constants(names)

    def _constants(self, names: Sequence[str]) -> list[float]:
        mu = self["mu"]
        if isinstance(mu, dict):
            unknown = sorted(set(mu) - set(names))
            if unknown:
                raise MultiAspectError(
                    f"{self.NAME}: mu has a constant for {choices(unknown)}, but the aspects evaluated are "
                    f"{choices(names)}"
                )
            constants = [mu.get(name, _DEFAULT) for name in names]
        else:
            constants = [mu, self["nu"], *[_DEFAULT] * len(names)][: len(names)]
        if not any(constants):
            raise MultiAspectError(f"{self.NAME}: at least one constant of {choices(names)} must be positive")
        return constants

    def depends_on(self, view: AspectView) -> bool:
        return False  # only the order of grades matters

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        hits = rankings.top(self.cutoff)
        epsilons = [
            rankings.shared(
                ("rank errors", view, self.cutoff), lambda view=view: rank_errors.errors(hits, view.grade)
            )
            for view in views
        ]
        # As floats: integers beyond 64 bits are no NumPy numbers.
        constants = [float(constant) for constant in self._constants([view.name for view in views])]
        return self._combine(hits, epsilons, constants)

    @abstractmethod
    def _combine(self, hits: Hits, epsilons: list[Floats], constants: list[float]) -> Floats:
        """The measure from the errors of each aspect."""


class _NLRE(_RankErrors):
    """Normalised local rank error: swapped neighbours, discounted by rank.

    Every retrieved document is compared with the one below it: if the ideal order of an
    aspect has the two the other way round, the difference of their ideal positions is an
    error, and errors of several aspects at the same place multiply. The sum is divided by
    the greatest one any ranking of that length can have and taken from 1.

    Parameters
    ----------
    mu : float >= 0 or dict of str to float, default 0.5
        The constant of the first aspect, or a constant per aspect (0.5 for those left out). Raising
        it makes errors of the *other* aspects cost more; see Notes.
    nu : float >= 0, default 0.5
        The constant of the second aspect. Further aspects have 0.5.
    aspects : Aspects, mapping or str, optional
        Which aspects; only the order of grades matters.
    cutoff : int, optional
        ``NLRE @ k`` sees the first k retrieved documents only.

    Notes
    -----
    Ideal orders keep equal grades as the ranking has them, so equal labels are no error. The
    product of Eq. 4 expands to ε_r ε_c + ν ε_r + μ ε_c: it is ν that prices errors of relevance,
    and with ν = 0 an error of relevance alone costs nothing, against the paper's wording. One
    retrieved document scores 1, none 0. Values crowd towards 1 as aspects are added, so compare
    them for the same number of aspects only.

    With two aspects the values are those of ``nlre`` of the TREC Health Misinformation tracks' official
    evaluator (Trec_eval_extension), and ``nlre`` in a string is NLRE. With three aspects that evaluator
    normalises ``nlre_three`` by Σ m³ + (μ + ν + ξ) m, which is not the maximum of the errors: its values
    differ from the ones here, where the attained maximum gives 0.

    References
    ----------
    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 1-6.

    Examples
    --------
    >>> from pt_multiaspect import NLRE
    >>> qrels = {"q1": {"d1": {"relevance": 0, "credibility": 0}, "d2": {"relevance": 1, "credibility": 0}}}
    >>> round(NLRE.calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.75
    """

    __name__ = "NLRE"
    NAME = __name__
    PRETTY_NAME = "Normalised local rank error"
    SHORT_DESC = "Neighbours swapped against the ideal orders of the aspects, multiplied rank by rank."
    CITATION = "Lioma et al. 2017, Eq. 4-6"

    def _combine(self, hits: Hits, epsilons: list[Floats], constants: list[float]) -> Floats:
        return rank_errors.nlre(hits, epsilons, constants)


class _NGRE(_RankErrors):
    """Normalised global rank error: swapped neighbours, summed per aspect, then multiplied.

    Parameters
    ----------
    mu, nu, aspects, cutoff : as in NLRE
        See `NLRE`. For NGRE, mu is the cost of errors of the first aspect, nu of the second.

    References
    ----------
    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 7-9.

    Examples
    --------
    >>> from pt_multiaspect import NGRE
    >>> qrels = {"q1": {"d1": {"relevance": 0, "credibility": 0}, "d2": {"relevance": 1, "credibility": 0}}}
    >>> round(NGRE.calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.6
    """

    __name__ = "NGRE"
    NAME = __name__
    PRETTY_NAME = "Normalised global rank error"
    SHORT_DESC = "Neighbours swapped against the ideal orders, summed per aspect and then multiplied."
    CITATION = "Lioma et al. 2017, Eq. 7-9"

    def _combine(self, hits: Hits, epsilons: list[Floats], constants: list[float]) -> Floats:
        return rank_errors.ngre(hits, epsilons, constants)


NLRE = _NLRE()
NGRE = _NGRE()
