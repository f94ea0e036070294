"""Group fairness: AWRF, GF and GFR."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from .._typing import Floats
from .._validation import choice
from ..aspects import AspectSpec
from ..bases import Bases, Term, parse_base
from ..bases.cascade import UTILITIES, LinearStopping, linear_stop
from ..collection import AspectView, Judgments, Rankings
from ..errors import MultiAspectError, choices, refuse_unknown, shown, warn_once
from ..groups.groups import Groups
from ..kernels import fairness
from ..kernels.forms import Ideal, Jarvelin, Linear
from ..kernels.hits import sums
from ..kernels.relevance import stopping_chance
from .mean_of import MeasureMean
from .measure import DirectMeasure, Measure
from .parameters import COMMON, CUTOFF, Param
from .registry import register
from .terms import TermMeasure


def _parse_groups(groups: object) -> Groups:
    if isinstance(groups, Groups):
        return groups
    registered = Groups.registry.get(groups.strip()) if isinstance(groups, str) else None
    if registered is None:
        known = choices(Groups.registry) or "none"
        raise MultiAspectError(
            f"groups: expected Groups or the name of declared groups ({known}), got {shown(groups)}; declare them "
            "as in Groups({'gender': {docno: group}}, name='authors')"
        )
    return registered


_GROUPS = Param(
    _parse_groups,
    None,
    "the groups: Groups or their name",
    spell=lambda groups: groups and groups.name,
    required=True,
)


def _warn_if_none(groups: Groups, n_retrieved: int, n_members: int) -> None:
    """Warn if no document of a run belongs to a group, for example because docnos are spelled differently."""
    if n_retrieved and not n_members:
        warn_once(
            f"no retrieved document belongs to a group of {groups.name}, so every query has the value of "
            "unknown groups. Check the docnos of the groups and of the run"
        )


def _relevant_target(groups: Groups, judgments: Judgments, view: AspectView, dimension: int | None) -> Floats:
    """Return the mean membership of the relevant documents of each query, as a distribution.

    The distribution is over the combinations of groups, or over the groups of one dimension. Documents without
    memberships in it are left out.
    """
    relevant = np.flatnonzero(view.target.relevant(None))
    query, docnos = judgments.pool_query[relevant], judgments.docnos[relevant]
    if dimension is None:
        (row, cell, share), n_cells, what = groups.cells(docnos), groups.n_cells, "a group"
    else:
        dimension_groups = groups.dimensions[dimension]
        (row, cell, share), n_cells = dimension_groups.expand(docnos), len(dimension_groups.groups)
        what = f"a group of {dimension_groups.name}"
    rows = sums(query[row] * n_cells + cell, share, judgments.n_queries * n_cells).reshape(-1, n_cells)
    total = rows.sum(axis=1, keepdims=True)
    without = judgments.qids[np.flatnonzero(total[:, 0] == 0)].tolist()
    if without:
        raise MultiAspectError(
            f"no relevant document of {choices(without[:10])} belongs to {what}, so there is no target "
            "distribution; declare one, Groups(..., target=...), or leave the queries out"
        )
    return np.asarray(rows / total, dtype=np.float64)


class _OfRelevance(Measure):
    """A measure that reads the labels of relevance only."""

    @property
    def spec(self) -> AspectSpec:
        """The declared aspects, or relevance."""
        declared: AspectSpec = self.params.get("aspects")
        return declared or ("relevance",)

    def views(self, judgments: Judgments) -> tuple[AspectView, ...]:
        """Return relevance."""
        self.validate_params()
        return (judgments.view("relevance", self.spec),)


class _GroupMeasure(_OfRelevance, DirectMeasure):
    """A measure of groups of documents."""

    @property
    def _groups(self) -> Groups:
        self.validate_params()
        groups: Groups = self["groups"]
        return groups

    def distinctions(self, judgments: Judgments) -> list[Any]:
        """Return the labels and the shares of the groups of each judged document.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        list of ndarray, shape (n_pool,)
            One array per label column that the measure reads, and one per group.
        """
        shares = [dimension.memberships(judgments.docnos).T for dimension in self._groups.dimensions]
        return [*super().distinctions(judgments), *chain.from_iterable(shares)]

    def _target(self, judgments: Judgments, dimension: int | None = None) -> Floats:
        """Return the target distribution of each query over the cells, or over the groups of one dimension.

        A declared target is summed over the other dimensions. Otherwise, the target of each dimension is that of
        the relevant documents with a membership in it, which may lack memberships in other dimensions.
        """
        key = ("target", self._groups, self.spec, dimension)
        return judgments.compute_once(key, lambda: self._make_target(judgments, dimension))

    def _make_target(self, judgments: Judgments, dimension: int | None) -> Floats:
        groups = self._groups
        if not groups.has_target:
            return _relevant_target(groups, judgments, judgments.view("relevance", self.spec), dimension)
        target = groups.target(judgments.original_qids.tolist())
        if dimension is None:
            return target
        other_axes = tuple(axis + 1 for axis in range(len(groups.dimensions)) if axis != dimension)
        by_group = target.reshape(-1, *(len(part.groups) for part in groups.dimensions)).sum(axis=other_axes)
        return np.asarray(by_group, dtype=np.float64)


class _AWRF(_GroupMeasure):
    """Attention-weighted rank fairness: closeness of the attention that groups receive to a target distribution.

    The attention of a group is the sum of D(i) = 1 / log2(max(i, 2)) over the ranks i of its documents, times the
    share of the group in the document (with several dimensions, the product of shares). It is normalised to sum to
    1. AWRF is 1 - the Jensen-Shannon divergence (natural logarithm) of attention and target. Values are between 1 -
    ln 2 = .3069 and 1; multiplied by a measure of relevance in [0, 1], they are between 0 and 1.

    Parameters
    ----------
    groups : Groups or str
        The groups and their target distribution, or the name of declared groups.
    score : {None, 'track'}, optional
        ``'track'``: multiply by nDCG as the TREC Fair Ranking track computes it: binary (every grade above the
        lowest is relevant), with the discount D; the ideal ranking has as many documents as are relevant, at most
        the cutoff.
    base : ir_measures.Measure or str, optional
        Multiply by this measure of relevance, such as ``'nDCG'``, at the same cutoff. The nDCG of
        ir-measures differs from the track's.
    cutoff : int, optional
        ``AWRF @ k`` evaluates only the first k retrieved documents. The track's program has the depth 500 (2022);
        in 2021, runs had at most 20 ranks.

    Notes
    -----
    A document without memberships keeps its rank and receives no attention. If no retrieved document has a
    membership, as in an empty ranking, attention is uniform, as in the program of 2021 (that of 2022 returns no
    value): an empty ranking can have an AWRF up to 1, and only the products are 0. The track's mean leaves out
    queries that a run lacks; here, they are included.

    Unjudged documents receive attention. Relevance is read only for `score`, `base`, and targets from the
    relevant documents; a query without a relevant document in a group has no such target, which is an error.

    References
    ----------
    Ekstrand et al.: Overview of the TREC 2021 and 2022 Fair Ranking Tracks. Sapiezynski et al.: Quantifying the
    Impact of User Attention on Fair Group Representation in Ranked Lists. WWW 2019.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> even = {"gender": {"f": 0.5, "m": 0.5}}
    >>> groups = ma.Groups({"gender": {"d1": "f", "d2": "m", "d3": "f"}}, target=even, name="example-awrf")
    >>> qrels = {"q1": {"d1": 1, "d2": 1, "d3": 0}}
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> round(ma.AWRF(groups=groups).calc_aggregate(qrels, run), 4)
    0.9927
    >>> ma.AWRF(groups="example-awrf", score="track") @ 2
    AWRF(groups='example-awrf',score='track')@2
    >>> ma.AWRF(groups=groups).explain(run, qrels, "q1").ranks[["docno", "contribution", "running"]].round(4)
      docno  contribution  running
    0    d1       -0.2158   0.7842
    1    d2        0.2158   1.0000
    2    d3       -0.0073   0.9927
    """

    PRETTY_NAME = "Attention-weighted rank fairness"
    SHORT_DESC = "Closeness of the attention that groups of documents receive to a target distribution."
    CITATION = "Ekstrand et al. 2021"
    SOURCES = ("ekstrand2021",)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "groups": _GROUPS,
        "score": Param(choice("score", None, "track"), None, "multiply by the nDCG of the track ('track')"),
        "base": Param(
            lambda base: None if base is None else parse_base(base),
            None,
            "multiply by this measure of relevance",
            spell=lambda base: base and base.spelled(),
        ),
        "cutoff": CUTOFF,
    }

    def _check(self) -> None:
        bases: Bases | None = self["base"]
        self._bases = None
        if bases is None:
            return
        base, cutoff = bases.one, self.params.get("cutoff")
        if self["score"] is not None:
            raise MultiAspectError("score='track' and base= both multiply by a measure of relevance; choose one")
        if base.LOWER_IS_BETTER or base.RANGE[0] < 0:
            raise MultiAspectError(
                f"base: expected a non-negative measure for which higher is better, got {base.text}: the product "
                "with AWRF is meaningless otherwise"
            )
        if base.cutoff is not None and base.cutoff != cutoff:
            raise MultiAspectError(
                f"the base {base.text} has the cutoff {base.cutoff}, but AWRF has {cutoff or 'none'}; set the "
                f"cutoff on AWRF, which cuts both: AWRF(...)@{base.cutoff}"
            )
        self._bases = bases.at(cutoff, self.NAME)

    def validate_params(self) -> None:
        """Raise an error if there are no groups, or the base lacks a required parameter."""
        super().validate_params()
        if self._bases is not None:
            self._bases.one.check_complete()

    @property
    def range(self) -> tuple[float, float]:
        if self._bases is not None:
            return (0.0, self._bases.one.RANGE[1])
        return (1.0 - np.log(2), 1.0) if self["score"] is None else (0.0, 1.0)

    def views(self, judgments: Judgments) -> tuple[AspectView, ...]:
        """Return relevance if the measure uses it."""
        reads = self["score"] is not None or self._bases is not None or not self._groups.has_target
        return (judgments.view("relevance", None),) if reads else ()

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        fair: Floats = rankings.compute_once(("awrf", self._groups, self.cutoff), lambda: self._fairness(rankings))
        if self._bases is not None:
            return np.asarray(fair * self._bases.one.values(rankings, views[0].target), dtype=np.float64)
        if self["score"] is None:
            return fair
        return np.asarray(fair * self._track_ndcg(rankings, views[0]), dtype=np.float64)

    def _fairness(self, rankings: Rankings) -> Floats:
        groups, judgments = self._groups, rankings.judgments
        query, rank, docnos = rankings.documents(self.cutoff)
        row, cell, share = groups.cells(docnos)
        _warn_if_none(groups, len(docnos), len(row))
        attention = fairness.attention(
            query[row], share * Jarvelin()(rank[row]), cell, judgments.n_queries, groups.n_cells
        )
        return 1.0 - fairness.shannon_divergence(attention, self._target(judgments))

    def _track_ndcg(self, rankings: Rankings, view: AspectView) -> Floats:
        target, ideal = view.target, Ideal(Jarvelin(), self.cutoff)
        form = Linear(target, target.relevant(None), ideal.discount, depth=self.cutoff, ideal=ideal)
        return form.values(rankings.top(self.cutoff))


_DIVERGENCE = choice("divergence", *fairness.DIVERGENCES)


class _GF(_GroupMeasure):
    """Group fairness: closeness of the documents seen to a target distribution, when the user stops.

    GF = Σ_i w_i (1 - divergence(mean membership of ranks 1 to i, target)), where w_i = s_i Π_{j<i} (1 - s_j) is the
    probability that the user stops at rank i, and s = gain / (1 + maximum gain of the scale) of relevance, 0 for
    unjudged documents. Values are between 0 and 1. GF is not normalised: with perfect fairness, its value is the
    sum of the w_i, and for a ranking without relevant documents 0.

    Parameters
    ----------
    groups : Groups or str
        The groups and their target distribution, or the name of declared groups.
    dimension : str, optional
        The dimension of the groups, required if they have several.
    divergence : {'JSD', 'NMD', 'RNOD'}, default 'JSD'
        Jensen-Shannon divergence (base 2), for nominal groups; normalised match distance or root normalised
        order-aware divergence, for groups whose order the target declares.
    aspects : Aspects, mapping or str, optional
        The scale of relevance, whose gains are used.
    cutoff : int, optional
        ``GF @ k`` evaluates only the first k retrieved documents.

    Notes
    -----
    Documents without memberships are members of all groups with equal shares. The shares of other documents sum
    to 1. A target over several dimensions is summed over the other dimensions. Without a target, it is the mean
    membership of the relevant documents of each query that belong to a group of the dimension.

    References
    ----------
    Sakai, Kim, Kang: A Versatile Framework for Evaluating Ranked Lists in Terms of Group Fairness and Relevance.
    ACM TOIS 42(1), 2023.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> even = {"kind": {"a": 0.5, "b": 0.5}}
    >>> groups = ma.Groups({"kind": {"d1": "a", "d2": "b"}}, target=even, name="example-gf")
    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> gf = ma.GF(groups=groups, aspects={"relevance": 1})
    >>> round(gf.calc_aggregate(qrels, run), 4)  # ½ · (1 - .3113) + ¼ · 1
    0.5944
    >>> gf.explain(run, qrels, "q1").ranks[["docno", "relevance", "contribution", "running"]].round(4)
      docno  relevance  contribution  running
    0    d1        1.0        0.3444   0.3444
    1    d2        1.0        0.2500   0.5944
    """

    PRETTY_NAME = "Group fairness"
    SHORT_DESC = "Closeness of the documents that a user has seen to a target distribution over groups."
    CITATION = "Sakai et al. 2023"
    SOURCES = ("sakai2023",)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "groups": _GROUPS,
        "dimension": Param(
            lambda name: None if name is None else str(name), None, "the dimension, if the groups have several"
        ),
        "divergence": Param(_DIVERGENCE, "JSD", "the divergence of distributions: JSD, NMD or RNOD"),
        **COMMON,
    }

    def _check(self) -> None:
        if self["groups"] is None:
            return
        names = [dimension.name for dimension in self._groups.dimensions]
        if self["dimension"] is None and len(names) > 1:
            raise MultiAspectError(
                f"expected groups of one dimension, got {choices(names)}; GFR takes several, or choose one, "
                f"dimension={names[0]!r}"
            )
        if self["dimension"] is not None:
            refuse_unknown([self["dimension"]], names, "one of the dimensions of the groups", "dimension")
        self._dimension = 0 if self["dimension"] is None else names.index(self["dimension"])
        groups, divergence = self._groups.dimensions[self._dimension], self["divergence"]
        if divergence != "JSD" and (not self._groups.is_ordered or len(groups.groups) < 2):
            raise MultiAspectError(
                f"{divergence} compares ordered groups: expected at least two groups of {groups.name} whose order "
                "is that of the target (one order for all queries) or of the columns of a DataFrame; declare the "
                "target, or use JSD"
            )

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        (view,) = views
        hits = rankings.top(self.cutoff)
        key = ("seen", self._groups, self._dimension, self.cutoff)
        seen: Floats = rankings.compute_once(key, lambda: self._mean_membership(rankings))
        wanted = self._target(rankings.judgments, self._dimension)[hits.query]
        view.check_gains(self.NAME)
        stops = stopping_chance(hits, linear_stop(view.target))
        divergence = fairness.DIVERGENCES[self["divergence"]](seen, wanted)
        return sums(hits.query, stops * (1.0 - divergence), hits.n_queries)

    def _mean_membership(self, rankings: Rankings) -> Floats:
        """Return the mean membership of the documents down to each judged document of the ranking."""
        hits = rankings.top(self.cutoff)
        groups = self._groups.dimensions[self._dimension]
        query, rank, docnos = rankings.documents(self.cutoff)
        membership = groups.memberships(docnos)
        total = membership.sum(axis=1)
        _warn_if_none(self._groups, len(docnos), int(total.any()))
        wrong = np.flatnonzero((total > 0) & (np.abs(total - 1.0) > 1e-6))
        if len(wrong):
            raise MultiAspectError(
                f"{groups.name}: expected shares that sum to 1 for document {docnos[wrong[0]]}, got "
                f"{total[wrong[0]]:g}; give the shares of its groups, such as {{'a': 0.5, 'b': 0.5}}"
            )
        membership[total == 0] = 1.0 / len(groups.groups)
        mean = fairness.mean_membership(query, rank, membership, hits.n_queries)
        return np.asarray(mean[hits.retrieved_index], dtype=np.float64)


AWRF = register(_AWRF)
GF = register(_GF)


def _parse_divergences(divergence: object) -> str | dict[str, str]:
    if isinstance(divergence, Mapping):
        return {str(name): str(_DIVERGENCE(value)) for name, value in sorted(divergence.items())}
    return str(_DIVERGENCE(divergence))


class _Utility(_OfRelevance, TermMeasure):
    """The relevance part of GFR: ERR or iRBU, for the same user as that of GF."""

    NAME = "Utility"
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "relevance": Param(choice("relevance", *UTILITIES), "ERR", "the measure of relevance: ERR or iRBU"),
        **COMMON,
    }

    def terms(self, judgments: Judgments) -> list[Term]:
        (view,) = self.views(judgments)
        return [Term.alone(LinearStopping(self["relevance"], self.cutoff), view.target)]


class _GFR(MeasureMean):
    """Group fairness and relevance: the mean of a measure of relevance and of `GF` in each dimension.

    The measure of relevance is ERR = Σ_i w_i / i or iRBU = Σ_i w_i .99^i, with the w_i of `GF`. Values are between
    0 and 1.

    Parameters
    ----------
    groups : Groups or str
        The groups and their target distribution, or the name of declared groups, of one or several dimensions.
    relevance : {'ERR', 'iRBU'}, default 'ERR'
        The measure of relevance.
    divergence : str or dict of str to str, default 'JSD'
        The divergence (see `GF`), or one for each dimension, as in ``{'level': 'NMD', 'kind': 'JSD'}``.
    aspects, cutoff : as in GF
        See `GF`.

    Notes
    -----
    ERR stops with the probability gain / (1 + maximum gain), as in the program of NTCIR FairWeb. ERR as a base of
    this package stops with (2^gain - 1) / 2^maximum: GFR has that form if the declared gains of the grades g are
    2^g - 1. FairWeb used the cutoff 20.

    A target over several dimensions is summed over the other dimensions. Without a target, that of each dimension
    is the mean membership of the relevant documents that belong to a group of this dimension.

    References
    ----------
    Sakai, Kim, Kang: A Versatile Framework for Evaluating Ranked Lists in Terms of Group Fairness and Relevance.
    ACM TOIS 42(1), 2023.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> even = {"kind": {"a": 0.5, "b": 0.5}}
    >>> groups = ma.Groups({"kind": {"d1": "a", "d2": "b"}}, target=even, name="example-gfr")
    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> gfr = ma.GFR(groups=groups, relevance="ERR", aspects={"relevance": 1})
    >>> round(gfr.calc_aggregate(qrels, run), 4)  # (½ + ¼ / 2 + .5944) / 2
    0.6097
    >>> gfr.explain(run, qrels, "q1").ranks[["docno", "relevance", "contribution", "running"]].round(4)
      docno  relevance  contribution  running
    0    d1        1.0        0.4222   0.4222
    1    d2        1.0        0.1875   0.6097
    """

    PRETTY_NAME = "Group fairness and relevance"
    SHORT_DESC = "The mean of a measure of relevance and of the group fairness in each dimension."
    CITATION = "Sakai et al. 2023"
    SOURCES = ("sakai2023",)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "groups": _GROUPS,
        "relevance": _Utility.SUPPORTED_PARAMS["relevance"],
        "divergence": Param(_parse_divergences, "JSD", "the divergence of distributions, or a dict by dimension"),
        **COMMON,
    }

    def _check(self) -> None:
        shared = {"aspects": self["aspects"], "cutoff": self["cutoff"]}
        members: list[Measure] = [_Utility(relevance=self["relevance"], **shared)]
        if self["groups"] is not None:
            members += [
                GF(groups=self["groups"], dimension=name, divergence=divergence, **shared)
                for name, divergence in self._divergences().items()
            ]
        self.members = tuple((member, 1.0) for member in members)

    def _divergences(self) -> dict[str, str]:
        """Return the divergence of each dimension."""
        names = [dimension.name for dimension in self["groups"].dimensions]
        divergence: Any = self["divergence"]
        if isinstance(divergence, str):
            return dict.fromkeys(names, divergence)
        if set(divergence) != set(names):
            raise MultiAspectError(
                f"divergence: expected one for each dimension ({choices(names)}), got {choices(divergence)}"
            )
        return {name: divergence[name] for name in names}


GFR = register(_GFR)
