"""Orders of label tuples given by explicit weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from .._cached import cached_property
from .._numbers import number, read_json, spell
from .._typing import Bools, Floats, Ints
from ..aspects import Aspect, Aspects
from ..aspects.names import Named, NameRegistry
from ..aspects.parameter import declared_aspects
from ..collection.other_libraries import as_frame
from ..errors import MultiAspectError, choices, refuse_none, refuse_repeated, shown
from .distance import DistanceOrder
from .registered import RegisteredDistance, is_distance
from .tuple_order import Grades, TupleOrder, numeric

_ALLOWING = ". Pass allow_violations=True to accept this"


def _column_of(qrels: pd.DataFrame, name: str) -> str:
    accepted = [name]
    if name == "relevance":
        accepted.append("label")
    columns = [column for column in accepted if column in qrels.columns]
    if not columns:
        raise MultiAspectError(
            f"expected a column {name!r} in the qrels, got {choices(qrels.columns)}"
        )
    if len(columns) > 1:
        raise MultiAspectError(
            "the qrels have both a column 'label' and a column 'relevance'; drop or rename one"
        )
    return columns[0]


def _read_pairs(
    weights: Mapping[tuple[float, ...], float] | Iterable[tuple[Sequence[float], float]],
) -> tuple[list[tuple[Any, Any]], list[tuple[float, ...]]]:
    """Return the pairs of a label tuple and its weight, and their distinct tuples as numbers."""
    pairs: list[Any]
    if isinstance(weights, Mapping):
        pairs = list(weights.items())
    elif isinstance(weights, Iterable):
        pairs = list(weights)
    else:
        pairs = [weights]
    refuse_none(pairs, "label tuple for the order")
    if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
        raise MultiAspectError(
            "weights: expected pairs of a label tuple and its weight, as ((1, 0), 0.5), got "
            f"{shown(weights)}"
        )
    tuples = [_read_tuple(key) for key, _ in pairs]
    refuse_repeated(tuples, "tuples of labels", "weights")
    return pairs, tuples


def _read_tuple(key: object) -> tuple[float, ...]:
    """Return a label tuple as numbers; a single label is a tuple of one."""
    if isinstance(key, Sequence):
        labels = key
    else:
        labels = [key]
    return tuple(number(label, "a label") for label in labels)


def _read_aspects(
    aspects: Aspects | Mapping[str, Any] | Sequence[str] | PathLike[str],
    tuples: list[tuple[float, ...]],
) -> Aspects:
    """Return the aspects of the tuples.

    If only names are given, their grades are the labels in the tuples.
    """
    lengths = {len(key) for key in tuples}
    if isinstance(aspects, str) or not isinstance(aspects, Collection):
        aspects = declared_aspects(aspects)
    n_aspects = len(aspects)
    if lengths != {n_aspects}:
        raise MultiAspectError(
            f"expected tuples of {n_aspects} labels ({choices(aspects)}), got tuples of "
            f"{choices(sorted(lengths))} labels"
        )
    if isinstance(aspects, Mapping):
        if isinstance(aspects, Aspects):
            return aspects
        return Aspects(aspects)
    labels_by_aspect = zip(*tuples, strict=True)
    declared = {}
    for name, labels in zip(aspects, labels_by_aspect, strict=True):
        grades = sorted(set(labels))
        declared[name] = Aspect(grades)
    return Aspects(declared)


class Order(Named, TupleOrder):
    """An order of label tuples given by one explicit weight per tuple.

    Tuples of equal weight form a class. Classes are numbered by increasing weight; class 0 has the
    weight of the tuple of all lowest grades (0 if that weight is negative or missing) and all lower
    weights. The closeness of a tuple is its weight divided by the maximum weight (if positive). It
    is negative for harmful tuples.

    Parameters
    ----------
    weights : mapping of tuple to number, or iterable of (tuple, number)
        The weight of each label tuple. Tuples without a weight are impossible: a document with
        such labels raises an error.
    aspects : Aspects, mapping or sequence of str
        The aspects, in the order of the labels in the tuples. If only names are given, the grades
        of an aspect are the labels that occur in the tuples, in increasing order.
    name : str, optional
        Name to refer to the order in measure strings, ``TOMA(order='my-order')``.
    allow_violations : bool, default False
        Whether to accept negative weights, and weights that rank a tuple above another that is at
        least as good on every aspect, as in preference orders that penalise harmful documents.
    lower_is_better : bool, default False
        Whether high weights are bad, as in an order of harm: lower values of measures are then
        better.

    Raises
    ------
    MultiAspectError
        If the order violates the partial order of tuples (the violations are listed), a
        tuple has the wrong length or an unknown grade, or a weight is not a number.

    References
    ----------
    Maistro et al., CIKM 2021, Eq. 1 (consistency with the partial order) and Eq. 4 (weights).

    Examples
    --------
    >>> order = Order({(0, 0): 0, (1, 0): 1, (1, 1): 3}, aspects=["relevance", "credibility"])
    >>> order.weigh([(1, 1), (0, 0)])
    array([3., 0.])
    """

    registry: ClassVar[NameRegistry[Order]]

    def __init__(
        self,
        weights: Mapping[tuple[float, ...], float] | Iterable[tuple[Sequence[float], float]],
        aspects: Aspects | Mapping[str, Any] | Sequence[str] | PathLike[str],
        *,
        name: str | None = None,
        allow_violations: bool = False,
        lower_is_better: bool = False,
    ) -> None:
        pairs, tuples = _read_pairs(weights)
        self.aspects = _read_aspects(aspects, tuples)
        self.names = tuple(self.aspects)
        self.scales = tuple(aspect.scale for aspect in self.aspects.values())
        self.name = name
        self.allow_violations = bool(allow_violations)
        self.lower_is_better = bool(lower_is_better)
        grades = self._grades(tuples)
        values = []
        for key, (_, value) in zip(tuples, pairs, strict=True):
            values.append(number(value, f"the weight of {key}"))
        codes = self._code(grades)
        by_code = np.argsort(codes)
        self._codes = codes[by_code]
        self._values = np.array(values, dtype=np.float64)[by_code]
        self._tuples = [tuples[index] for index in by_code]
        if not self.allow_violations:
            self._refuse_violations(grades[by_code])
        if isinstance(name, str) and is_distance(name):
            raise MultiAspectError(
                f"{name!r} is the name of a distance; use another name for the order"
            )
        self._json = self._to_json()
        Order.registry.add(self)

    @classmethod
    def from_distance(
        cls,
        aspects: Aspects | Mapping[str, Any] | str | PathLike[str],
        distance: Callable[[tuple[float, ...]], float],
        *,
        axes: str = "equal",
        name: str | None = None,
    ) -> Order:
        """Create an order from a user-defined distance.

        Parameters
        ----------
        aspects : Aspects or mapping
            Aspects with declared grades, with at most a million label tuples.
        distance : callable
            Takes the tuple of gaps (per aspect, the value of the top grade minus the value of the
            tuple's grade, at least 0) and returns the distance from the best tuple. It must be
            non-decreasing in every gap. It need not be a metric; monotonicity alone makes the order
            consistent with the partial order.
        axes : {'equal', 'gains'}, default 'equal'
            Whether gaps are measured on axes of equal length (0 to 1) or in the units of the gains.
        name : str, optional
            Name to refer to the order in measure strings.

        Returns
        -------
        Order
            The weight of a tuple is the index of its class, 0 for the farthest. Distances that
            differ by at most 1e-13 times the maximum count as equal.

        Raises
        ------
        MultiAspectError
            If the distance is negative, is not a number, or decreases when a gap increases.

        Examples
        --------
        >>> aspects = {"relevance": 2, "credibility": 1}
        >>> order = Order.from_distance(aspects, lambda gaps: 3 * gaps[0] + gaps[1])
        >>> order.weigh([(2, 0), (1, 1)])
        array([4., 3.])
        """
        if not callable(distance):
            raise MultiAspectError(
                f"distance: expected a function of the gaps, got {shown(distance)}; DistanceOrder "
                "takes a distance by its name"
            )
        declared = declared_aspects(aspects)

        def distances_at(rows: Floats) -> Floats:
            distances = []
            for row in rows.tolist():
                gaps = tuple(row)
                distances.append(number(distance(gaps), f"the distance at the gaps {gaps}"))
            return np.array(distances, np.float64)

        title = getattr(distance, "__name__", type(distance).__name__)
        order = DistanceOrder(declared, RegisteredDistance(title, distances_at), axes=axes)
        grades = [scale.grades.tolist() for scale in order.scales]
        classes = order.class_index(order._all_tuples())
        weights = zip(product(*grades), classes.tolist(), strict=True)
        return cls(weights, declared, name=name)

    @property
    def _flags(self) -> dict[str, bool]:
        """The boolean parameters that are True."""
        flags = {}
        if self.allow_violations:
            flags["allow_violations"] = True
        if self.lower_is_better:
            flags["lower_is_better"] = True
        return flags

    def _to_json(self) -> str:
        """Return the JSON from which the order can be restored."""
        rows = [[*key, number(weight, "a weight")] for key, weight in self.to_dict().items()]
        content = {"aspects": json.loads(self.aspects.to_json()), "weights": rows, **self._flags}
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    def _code(self, grades: Grades) -> Ints:
        shape = tuple(map(len, self.scales))
        codes = np.ravel_multi_index(tuple(grades.T), shape)
        return np.asarray(codes, dtype=np.intp)

    def _refuse_violations(self, grades: Grades) -> None:
        if self._values.min() < 0:
            negative = [key for key, weight in self.to_dict().items() if weight < 0]
            raise MultiAspectError(
                "weights must be non-negative, got negative weights for "
                f"{choices(negative)}{_ALLOWING}"
            )
        violations: list[str] = []
        total = 0
        for worse, grade in enumerate(grades):
            is_at_least = (grades >= grade).all(axis=1)
            has_less = self._values < self._values[worse]
            better = np.flatnonzero(is_at_least & has_less).tolist()
            total += len(better)
            n_to_list = max(0, 5 - len(violations))
            for row in better[:n_to_list]:
                violations.append(self._violation(worse, row))
        if total > len(violations):
            violations.append(f"and {total - len(violations)} more")
        if total:
            raise MultiAspectError(
                "the weights violate the partial order of tuples (Eq. 1): "
                f"{'; '.join(violations)}{_ALLOWING}"
            )

    def _violation(self, worse: int, better: int) -> str:
        """Return the text of two tuples, of which the worse one has more weight."""
        more = spell(self._values[worse].item())
        less = spell(self._values[better].item())
        return (
            f"{self._tuples[worse]} has weight {more}, but {self._tuples[better]}, at least as "
            f"good on every aspect, has weight {less}"
        )

    def _lookup(self, grades: Grades) -> tuple[Ints, Bools]:
        """Return the index of each tuple among those with a weight, and whether it has a weight."""
        codes = self._code(grades)
        position = np.searchsorted(self._codes, codes)
        index = np.minimum(position, len(self._codes) - 1)
        has_weight = self._codes[index] == codes
        return index, np.asarray(has_weight, dtype=np.bool_)

    def is_possible(self, grades: Grades) -> Bools:
        """Return a mask of the tuples with a weight."""
        _, has_weight = self._lookup(grades)
        return has_weight

    def weights(self, grades: Grades) -> Floats:
        """Return the explicit weight of each tuple."""
        index, has_weight = self._lookup(grades)
        missing = np.flatnonzero(~has_weight)
        if len(missing):
            labels = []
            for scale, grade in zip(self.scales, grades[missing[0]], strict=True):
                labels.append(number(scale.grades[grade].item(), "a label"))
            raise MultiAspectError(
                f"the order has no weight for the labels {tuple(labels)} of "
                f"{choices(self.names)}: expected one of {choices(self._tuples)}"
            )
        return self._values[index]

    @property
    def worst_weight(self) -> float:
        """The weight of the tuple of all lowest grades, 0 if the order does not contain it."""
        if self._codes[0] == 0:
            return float(self._values[0])
        return 0.0

    @cached_property
    def _levels(self) -> Floats:
        floor = max(self.worst_weight, 0.0)
        above = self._values[self._values > floor]
        return np.unique(np.append(above, floor))

    @property
    def n_classes(self) -> int:
        """The number of distinct weights from the weight of the lowest tuple (or 0) upwards."""
        return len(self._levels)

    def class_index(self, grades: Grades) -> Ints:
        """Return the class of each tuple, 0 for weights up to that of the lowest tuple (or 0)."""
        n_levels_below = np.searchsorted(self._levels, self.weights(grades), side="right")
        return np.maximum(n_levels_below - 1, 0)

    def closeness(self, grades: Grades) -> Floats:
        """Return weight / maximum weight for each tuple, negative for harmful tuples."""
        weights = self.weights(grades)
        if self.top_weight > 0:
            return weights / self.top_weight
        return weights

    def above_worst(self, grades: Grades) -> Bools:
        """Return a mask of the tuples in a class above the lowest."""
        return np.asarray(self.class_index(grades) > 0, dtype=np.bool_)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of TOMA that give this order."""
        return {"order": self}

    def __str__(self) -> str:
        if self.name:
            return f"{self.name}, with their weights"
        return "an explicit order, with their weights"

    @property
    def top_weight(self) -> float:
        """The maximum weight."""
        return float(self._values.max())

    def weigh(self, labels: object) -> Floats:
        """Return the weights of label tuples.

        Parameters
        ----------
        labels : array-like of shape (n_tuples, n_aspects)
            Labels in the order of the aspects.

        Returns
        -------
        ndarray of float, shape (n_tuples,)
        """
        return self.weights(self._grades(labels))

    def apply(self, qrels: Any, column: str = "code") -> pd.DataFrame:
        """Return the qrels with an additional column, the weight of the labels of each row.

        Parameters
        ----------
        qrels : DataFrame
            One numeric column per aspect of the order. The column ``label`` may be used for the
            aspect ``relevance``. As in evaluation, NaN and labels below the lowest grade count as
            the lowest grade.
        column : str, default 'code'
            Name of the new column.

        Returns
        -------
        DataFrame
            A copy with the same rows and index. The weights are integers if all weights of the
            order are whole numbers.

        Raises
        ------
        MultiAspectError
            If a column is missing or already exists, labels are not grades of an aspect, or the
            order has no weight for them. The message names them.

        Examples
        --------
        >>> import pandas as pd
        >>> weights = {(0, 0): 0, (0, 1): 0, (1, 0): -1, (1, 1): 2}
        >>> order = Order(weights, ["relevance", "correct"], allow_violations=True)
        >>> qrels = pd.DataFrame({"qid": "1", "docno": ["a", "b"], "label": 1, "correct": [1, 0]})
        >>> order.apply(qrels)["code"].tolist()
        [2, -1]
        """
        frame = as_frame(qrels, "qrels")
        if column in frame.columns:
            raise MultiAspectError(
                f"the qrels already have a column {column!r}; pass another name as column="
            )
        columns = [_column_of(frame, name) for name in self.names]
        grades = []
        for name, source, scale in zip(self.names, columns, self.scales, strict=True):
            labels = numeric(frame[source], source)
            index, wrong = scale.positions(labels)
            if len(wrong):
                unknown = np.unique(labels[wrong]).tolist()
                raise MultiAspectError(
                    f"column {source!r}: expected grades of {name} ({scale}), got "
                    f"{choices(map(spell, unknown))}"
                )
            grades.append(index)
        weights: Floats | Ints = self.weights(np.stack(grades, axis=1))
        has_whole_weights = bool((self._values == np.rint(self._values)).all())
        if has_whole_weights:
            weights = weights.astype(np.int64)
        return frame.assign(**{column: weights})

    def to_dict(self) -> dict[tuple[float, ...], float]:
        """Return the label tuples with their weights, lowest grades first.

        Returns
        -------
        dict of tuple to float

        Examples
        --------
        >>> Order({(1, 0): 1, (0, 0): 0}, aspects=["relevance", "credibility"]).to_dict()
        {(0, 0): 0.0, (1, 0): 1.0}
        """
        return dict(zip(self._tuples, self._values.tolist(), strict=True))

    def to_json(self) -> str:
        """Return the order as a compact JSON object."""
        return self._json

    @classmethod
    def from_json(cls, text: str, *, name: str | None = None) -> Order:
        """Build an order from the output of `to_json`."""
        try:
            content = read_json(text, "an order")
            pairs = [(tuple(row[:-1]), row[-1]) for row in content["weights"]]
            aspects = content["aspects"]
            allow_violations = content.get("allow_violations", False)
            lower_is_better = content.get("lower_is_better", False)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise MultiAspectError(
                'expected JSON of the form {"aspects": {name: scale, …}, "weights": [[label, …, '
                f"weight], …]}}, got {text!r} ({error!r})"
            ) from None
        return cls(
            pairs,
            aspects,
            name=name,
            allow_violations=allow_violations,
            lower_is_better=lower_is_better,
        )

    def spelled(self) -> str:
        """Return the text of the order in the string form of a measure: its name, or JSON."""
        if self.name is None:
            return self._json
        return self.name

    def __repr__(self) -> str:
        pairs = [f"{key}: {spell(weight)}" for key, weight in self.to_dict().items()]
        arguments = [f"{{{', '.join(pairs)}}}", repr(dict(self.aspects))]
        if self.name is not None:
            arguments.append(f"name={self.name!r}")
        for flag in self._flags:
            arguments.append(f"{flag}=True")
        return f"Order({', '.join(arguments)})"

    @classmethod
    def _from_state(cls, state: str) -> Order:
        return cls.from_json(state)


Order.registry = NameRegistry(Order, "an order")


def parse_order(order: object) -> Order | None:
    """Parse an order: an `Order`, its name or its JSON. None is returned unchanged."""
    if order is None or isinstance(order, Order):
        return order
    remedy = ""
    if isinstance(order, str):
        if order.lstrip().startswith("{"):
            return Order.from_json(order)
        registered = Order.registry.get(order)
        if registered is not None:
            return registered
        if is_distance(order):
            remedy = "; pass a distance as distance="
    elif isinstance(order, TupleOrder):
        remedy = "; pass its distance, axes, weights and gate to TOMA instead"
    raise MultiAspectError(
        f"order: expected an Order or the name of an Order ({choices(Order.registry)}), got "
        f"{shown(order)}{remedy}"
    )


def spell_order(order: Order | None) -> str | None:
    """Return the text of an order in the string form of a measure."""
    if order is None:
        return None
    return order.spelled()
