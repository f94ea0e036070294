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
#: Maximum number of violations that an error lists.
_MOST_VIOLATIONS = 5


def _label_column(qrels: pd.DataFrame, aspect: str) -> str:
    """Return the column of the qrels that contains the labels of an aspect.

    The labels of relevance may be in a column ``label``, as in PyTerrier.
    """
    has_aspect = aspect in qrels.columns
    has_label = aspect == "relevance" and "label" in qrels.columns
    if has_aspect and has_label:
        raise MultiAspectError(
            "the qrels have both a column 'label' and a column 'relevance'; drop or rename one"
        )
    if has_aspect:
        return aspect
    if has_label:
        return "label"
    raise MultiAspectError(
        f"expected a column {aspect!r} in the qrels, got {choices(qrels.columns)}"
    )


def _read_pairs(
    weights: Mapping[tuple[float, ...], float] | Iterable[tuple[Sequence[float], float]],
) -> list[tuple[tuple[float, ...], Any]]:
    """Return pairs of a label tuple, as numbers, and its weight, which is not checked."""
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
    pairs_with_numbers = []
    for labels, weight in pairs:
        pairs_with_numbers.append((_read_tuple(labels), weight))
    tuples = [labels for labels, _ in pairs_with_numbers]
    refuse_repeated(tuples, "tuples of labels", "weights")
    return pairs_with_numbers


def _read_tuple(key: object) -> tuple[float, ...]:
    """Return a label tuple as numbers; a single label is a tuple of one.

    Raise an error if a label is not a number. A text, too, is a sequence: the error shows its first
    character.
    """
    labels: Sequence[object]
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
    if isinstance(aspects, str) or not isinstance(aspects, Collection):
        # The name of declared aspects, or a file of them.
        aspects = declared_aspects(aspects)
    n_aspects = len(aspects)
    lengths = set(map(len, tuples))
    if lengths != {n_aspects}:
        raise MultiAspectError(
            f"expected tuples of {n_aspects} labels ({choices(aspects)}), got tuples of "
            f"{choices(sorted(lengths))} labels"
        )
    if isinstance(aspects, Aspects):
        return aspects
    if isinstance(aspects, Mapping):
        return Aspects(aspects)
    aspect_of_name = {}
    for position, name in enumerate(aspects):
        labels = {labels_of_tuple[position] for labels_of_tuple in tuples}
        aspect_of_name[name] = Aspect(sorted(labels))
    return Aspects(aspect_of_name)


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
        pairs = _read_pairs(weights)
        tuples = [labels for labels, _ in pairs]
        self.aspects = _read_aspects(aspects, tuples)
        self.names = tuple(self.aspects)
        self.scales = tuple(aspect.scale for aspect in self.aspects.values())
        self.name = name
        self.allow_violations = bool(allow_violations)
        self.lower_is_better = bool(lower_is_better)
        grades = self._grades(tuples)
        values = []
        for labels, weight in pairs:
            values.append(number(weight, f"the weight of {labels}"))
        # Tuples are sorted by their code, so that a binary search finds them.
        codes = self._tuple_codes(grades)
        by_code = np.argsort(codes)
        self._codes = codes[by_code]
        weights_as_listed = np.array(values, dtype=np.float64)
        self._values = weights_as_listed[by_code]
        self._tuples = [tuples[index] for index in by_code]
        if not self.allow_violations:
            self._refuse_negative_weights()
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

        def distances_of_rows(rows: Floats) -> Floats:
            """Return the user-defined distance at each row of gaps."""
            distances = []
            for row in rows.tolist():
                gaps = tuple(row)
                value = number(distance(gaps), f"the distance at the gaps {gaps}")
                distances.append(value)
            return np.array(distances, np.float64)

        type_name = type(distance).__name__
        title = getattr(distance, "__name__", type_name)
        by_distance = DistanceOrder(
            declared, RegisteredDistance(title, distances_of_rows), axes=axes
        )
        # Both list the tuples with the last aspect changing fastest.
        classes = by_distance.class_index(by_distance._all_tuples())
        grades_of_aspects = [scale.grades.tolist() for scale in by_distance.scales]
        all_label_tuples = product(*grades_of_aspects)
        weights = zip(all_label_tuples, classes.tolist(), strict=True)
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
        rows = []
        for labels, weight in self.to_dict().items():
            compact_weight = number(weight, "a weight")
            rows.append([*labels, compact_weight])
        aspects = json.loads(self.aspects.to_json())
        content: dict[str, Any] = {"aspects": aspects, "weights": rows}
        content.update(self._flags)
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    def _tuple_codes(self, grades: Grades) -> Ints:
        """Return an integer that identifies each tuple: 0 for the tuple of all lowest grades."""
        n_grades = tuple(map(len, self.scales))
        grades_by_aspect = tuple(grades.T)
        codes = np.ravel_multi_index(grades_by_aspect, n_grades)
        return np.asarray(codes, dtype=np.intp)

    def _refuse_negative_weights(self) -> None:
        """Raise an error that lists the tuples with negative weights, if there are any."""
        weight_of_labels = self.to_dict()
        negative = [labels for labels, weight in weight_of_labels.items() if weight < 0]
        if negative:
            raise MultiAspectError(
                "weights must be non-negative, got negative weights for "
                f"{choices(negative)}{_ALLOWING}"
            )

    def _refuse_violations(self, grades: Grades) -> None:
        """Raise an error if a tuple has less weight than one that is no better on any aspect.

        `grades` are the tuples with a weight, shape (n_tuples, n_aspects).
        """
        n_violations = 0
        listed: list[str] = []
        for worse, worse_grades in enumerate(grades):
            is_at_least_as_good = (grades >= worse_grades).all(axis=1)
            has_less_weight = self._values < self._values[worse]
            better = np.flatnonzero(is_at_least_as_good & has_less_weight)
            n_violations += len(better)
            n_to_list = _MOST_VIOLATIONS - len(listed)
            for row in better[:n_to_list].tolist():
                listed.append(self._violation_text(worse, row))
        if n_violations == 0:
            return
        n_unlisted = n_violations - len(listed)
        if n_unlisted:
            listed.append(f"and {n_unlisted} more")
        violations = "; ".join(listed)
        raise MultiAspectError(
            f"the weights violate the partial order of tuples (Eq. 1): {violations}{_ALLOWING}"
        )

    def _violation_text(self, worse: int, better: int) -> str:
        """Return the text about two tuples, by position, of which the worse one has more weight."""
        worse_tuple = self._tuples[worse]
        better_tuple = self._tuples[better]
        more = spell(self._values[worse].item())
        less = spell(self._values[better].item())
        return (
            f"{worse_tuple} has weight {more}, but {better_tuple}, at least as good on every "
            f"aspect, has weight {less}"
        )

    def _lookup(self, grades: Grades) -> tuple[Ints, Bools]:
        """Return the position of each tuple among those with a weight, and whether it is there."""
        codes = self._tuple_codes(grades)
        first_not_below = np.searchsorted(self._codes, codes)
        # For a code above all others, this would be after the last position.
        last_position = len(self._codes) - 1
        position = np.minimum(first_not_below, last_position)
        has_weight = self._codes[position] == codes
        return position, np.asarray(has_weight, dtype=np.bool_)

    def is_possible(self, grades: Grades) -> Bools:
        """Return a mask of the tuples with a weight."""
        _, has_weight = self._lookup(grades)
        return has_weight

    def weights(self, grades: Grades) -> Floats:
        """Return the explicit weight of each tuple; raise an error if a tuple has none."""
        position, has_weight = self._lookup(grades)
        if not has_weight.all():
            without_weight = grades[~has_weight]
            labels = []
            for column in self._label_columns(without_weight):
                labels.append(number(column[0].item(), "a label"))
            raise MultiAspectError(
                f"the order has no weight for the labels {tuple(labels)} of "
                f"{choices(self.names)}: expected one of {choices(self._tuples)}"
            )
        return self._values[position]

    @property
    def worst_weight(self) -> float:
        """The weight of the tuple of all lowest grades, 0 if the order does not contain it."""
        # Codes are sorted, and this tuple has the lowest possible code.
        has_worst_tuple = self._codes[0] == 0
        if has_worst_tuple:
            return float(self._values[0])
        return 0.0

    @cached_property
    def _class_weights(self) -> Floats:
        """The highest weight of class 0 and the weight of each higher class, increasing.

        Tuples that are no better than the tuple of all lowest grades are class 0, and so are
        harmful ones, whose weight is below 0.
        """
        highest_of_class_0 = max(self.worst_weight, 0.0)
        is_higher = self._values > highest_of_class_0
        higher_weights = self._values[is_higher]
        return np.unique(np.append(higher_weights, highest_of_class_0))

    @property
    def n_classes(self) -> int:
        """The number of distinct weights from the weight of the lowest tuple (or 0) upwards."""
        return len(self._class_weights)

    def class_index(self, grades: Grades) -> Ints:
        """Return the class of each tuple, 0 for weights up to that of the lowest tuple (or 0)."""
        weights = self.weights(grades)
        n_classes_up_to = np.searchsorted(self._class_weights, weights, side="right")
        # Weights below that of class 0 belong to it, too.
        return np.maximum(n_classes_up_to - 1, 0)

    def closeness(self, grades: Grades) -> Floats:
        """Return weight / maximum weight for each tuple, negative for harmful tuples."""
        weights = self.weights(grades)
        if self.top_weight <= 0:
            return weights  # there is no best tuple to relate them to
        return weights / self.top_weight

    def above_worst(self, grades: Grades) -> Bools:
        """Return a mask of the tuples in a class above the lowest."""
        index = self.class_index(grades)
        return np.asarray(index > 0, dtype=np.bool_)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of TOMA that give this order."""
        return {"order": self}

    def __str__(self) -> str:
        """Return the order in words, as the end of "label tuples are ordered by …".

        An order gives label tuples their weights.
        """
        name = self.name or "an explicit order"
        return f"{name}, with their weights"

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
        weights: Floats | Ints = self.weights(self._grades_of_qrels(frame))
        are_whole_numbers = self._values == np.rint(self._values)
        if are_whole_numbers.all():
            weights = weights.astype(np.int64)
        return frame.assign(**{column: weights})

    def _grades_of_qrels(self, qrels: pd.DataFrame) -> Grades:
        """Return the grade indices of the labels in qrels, shape (n_rows, n_aspects)."""
        label_columns = [_label_column(qrels, name) for name in self.names]
        grades = []
        for aspect, column in enumerate(label_columns):
            scale = self.scales[aspect]
            labels = numeric(qrels[column], column)
            aspect_grades, wrong_rows = scale.positions(labels)
            if len(wrong_rows):
                unknown = np.unique(labels[wrong_rows]).tolist()
                raise MultiAspectError(
                    f"column {column!r}: expected grades of {self.names[aspect]} ({scale}), got "
                    f"{choices(map(spell, unknown))}"
                )
            grades.append(aspect_grades)
        return np.stack(grades, axis=1)

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
        weights = self._values.tolist()
        return dict(zip(self._tuples, weights, strict=True))

    def to_json(self) -> str:
        """Return the order as a compact JSON object."""
        return self._json

    @classmethod
    def from_json(cls, text: str, *, name: str | None = None) -> Order:
        """Build an order from the output of `to_json`."""
        try:
            content = read_json(text, "an order")
            pairs = []
            for row in content["weights"]:
                labels = tuple(row[:-1])
                weight = row[-1]
                pairs.append((labels, weight))
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
        pairs = []
        for labels, weight in self.to_dict().items():
            spelled_weight = spell(weight)
            pairs.append(f"{labels}: {spelled_weight}")
        weights = ", ".join(pairs)
        aspects = dict(self.aspects)
        arguments = [f"{{{weights}}}", f"{aspects}"]
        if self.name is not None:
            arguments.append(f"name={self.name!r}")
        for flag in self._flags:
            arguments.append(f"{flag}=True")
        call = ", ".join(arguments)
        return f"Order({call})"

    @classmethod
    def _from_state(cls, state: str) -> Order:
        return cls.from_json(state)


Order.registry = NameRegistry(Order, "an order")


def parse_order(order: object) -> Order | None:
    """Parse an order: an `Order`, its name or its JSON. None is returned unchanged."""
    if order is None or isinstance(order, Order):
        return order
    if isinstance(order, str):
        is_json = order.lstrip().startswith("{")
        if is_json:
            return Order.from_json(order)
        registered = Order.registry.get(order)
        if registered is not None:
            return registered
    remedy = _order_remedy(order)
    raise MultiAspectError(
        f"order: expected an Order or the name of an Order ({choices(Order.registry)}), got "
        f"{shown(order)}{remedy}"
    )


def _order_remedy(order: object) -> str:
    """Return what to do with a value that is a distance; nothing for other values."""
    if isinstance(order, str) and is_distance(order):
        return "; pass a distance as distance="
    if isinstance(order, TupleOrder):
        return "; pass its distance, axes, weights and gate to TOMA instead"
    return ""


def spell_order(order: Order | None) -> str | None:
    """Return the text of an order in the string form of a measure."""
    if order is None:
        return None
    return order.spelled()
