"""Names of groups of documents, and target distributions over groups, read from any accepted form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from .._numbers import number
from .._typing import Floats, Objects
from ..collection.columns import QUERY_COLUMNS, as_floats, id_column
from ..collection.frames import materialise, to_pandas
from ..errors import MultiAspectError, choices, refuse_repeated
from ..strings.identifiers import identifiers

#: Tolerance for the sum of the shares of a target.
_TOLERANCE = 1e-6


def name_of_group(group: object) -> str:
    """Return the name of a group; numbers that are equal have one name."""
    if isinstance(group, Real) and not isinstance(group, Integral) and float(group).is_integer():
        return str(int(float(group)))
    return str(group)


def check_group_types(groups: Iterable[object], what: str) -> None:
    """Raise an error if text reads as a group that is given as a number, or as another value.

    Parameters
    ----------
    groups : iterable of object
        The distinct groups, as given.
    what : str
        The parameter or table, at the beginning of the error.
    """
    others: dict[str, object] = {}
    texts: dict[str, str] = {}
    for group in groups:
        if isinstance(group, str):
            texts.setdefault(_name_of_text(group), group)
        else:
            others.setdefault(name_of_group(group), group)
    for name, text in texts.items():
        if name in others:
            raise MultiAspectError(
                f"{what}: expected names of groups of one type, got {others[name]} and the text {text!r}; convert "
                "them to one type, as by astype(str)"
            )


def group_names(column: pd.Series[Any], what: str) -> Objects:
    """Return the names of the groups in a column; see `check_group_types`."""
    names = identifiers(column, what)
    groups = column.to_numpy(dtype=object)
    if pd.api.types.infer_dtype(groups, skipna=False) == "string":
        return names
    check_group_types(groups, what)
    return np.array([name_of_group(group) for group in groups], dtype=object)


def _name_of_text(text: str) -> str:
    try:
        return name_of_group(float(text))
    except ValueError:
        return text.strip()


def group_name(what: str, group: object) -> str:
    """Return the name of a group, or raise an error that starts with `what`."""
    if not isinstance(group, str) or not group:
        raise MultiAspectError(f"{what}: expected names of groups, got {group!r}")
    return group


@dataclass
class GroupTarget:
    """A target as given: shares of combinations of groups per query, by names or as arrays."""

    names: list[str]
    #: The groups in the order in which the target mentions them; those of an array are columns of frames.
    groups: dict[str, tuple[str, ...]]
    #: The distributions by query, or of all queries under None.
    shares: dict[str | None, dict[tuple[str, ...], float] | Floats]
    #: Whether all distributions mention the groups in the same order.
    is_ordered: bool = True

    @classmethod
    def read(cls, target: object, names: list[str], ordered: Mapping[str, tuple[str, ...]]) -> GroupTarget:
        """Read a target over the dimensions `names`; `ordered` has the groups of dimensions given as columns."""
        made = cls(names, {}, {})
        target = materialise(target)
        frame = to_pandas(target)
        if frame is not None and any(column in frame.columns for column in QUERY_COLUMNS):
            qids = identifiers(id_column(frame, QUERY_COLUMNS, "target"), "target")
            for qid in pd.unique(pd.Series(qids, dtype=object)):
                made._add(qid, frame[qids == qid].drop(columns=[*QUERY_COLUMNS], errors="ignore"), ordered)
        elif frame is None and isinstance(target, Mapping) and not set(target) <= set(names):
            for qid, distribution in target.items():
                made._add(str(qid), distribution, ordered)
        else:
            made._add(None, target, ordered)
        return made

    def _add(self, qid: str | None, distribution: object, ordered: Mapping[str, tuple[str, ...]]) -> None:
        frame = to_pandas(distribution)
        if frame is not None:
            self.shares[qid] = self._read_frame(frame)
        elif isinstance(distribution, Mapping):
            self.shares[qid] = self._read_mapping(distribution)
        elif isinstance(distribution, str | float | int) or distribution is None:
            raise MultiAspectError(
                f"target: expected the shares of groups for each dimension ({choices(self.names)}), as in "
                f"{{{self.names[0]!r}: {{'a': 0.5, 'b': 0.5}}}}, got {distribution!r} for {qid}"
            )
        else:
            unordered = [name for name in self.names if not ordered[name]]
            if unordered:
                raise MultiAspectError(
                    "target: an array does not name its groups, so each dimension must be a DataFrame with one "
                    f"column per group, got other memberships for {choices(unordered)}; or give the target by names"
                )
            self._mention({name: ordered[name] for name in self.names})
            try:
                self.shares[qid] = np.asarray(distribution, dtype=np.float64)
            except (TypeError, ValueError):
                raise MultiAspectError(
                    "target: expected a mapping {dimension: {group: share}}, an array or a DataFrame, got "
                    f"{distribution!r}"
                ) from None

    def _mention(self, groups: Mapping[str, Iterable[str]]) -> None:
        for name, mentioned in groups.items():
            distinct = list(dict.fromkeys(mentioned))
            self.groups[name] = tuple(dict.fromkeys((*self.groups.get(name, ()), *distinct)))
            self.is_ordered &= [group for group in self.groups[name] if group in set(distinct)] == distinct

    def _read_mapping(self, distribution: Mapping[Any, Any]) -> dict[tuple[str, ...], float]:
        if set(distribution) != set(self.names) or not all(
            isinstance(value, Mapping) for value in distribution.values()
        ):
            raise MultiAspectError(
                f"target: expected the shares of groups for each dimension ({choices(self.names)}), got "
                f"{distribution!r}"
            )
        product: dict[tuple[str, ...], float] = {(): 1.0}
        for name in self.names:
            shares = {
                group_name("target", group): number(share, f"target: {group}")
                for group, share in distribution[name].items()
            }
            self._mention({name: shares})
            _check_shares(f"target: {name}", np.array(list(shares.values()), dtype=np.float64))
            product = {
                (*key, group): before * share for key, before in product.items() for group, share in shares.items()
            }
        return product

    def _read_frame(self, frame: pd.DataFrame) -> dict[tuple[str, ...], float]:
        missing = [column for column in (*self.names, "share") if column not in frame.columns]
        if missing:
            raise MultiAspectError(
                f"target: expected the columns {choices([*self.names, 'share'])}, got no {choices(missing)}"
            )
        columns = {name: group_names(frame[name], "target").tolist() for name in self.names}
        self._mention(columns)
        keys = list(zip(*columns.values(), strict=True))
        refuse_repeated(keys, "combinations of groups", "target")
        return dict(zip(keys, as_floats(frame["share"]).tolist(), strict=True))

    def arrays(self, groups: Sequence[Sequence[str]]) -> dict[str | None, Floats]:
        """Return the flat distribution over the combinations of the groups of each dimension, per query."""
        shape = tuple(map(len, groups))
        positions = [{group: position for position, group in enumerate(names)} for names in groups]
        result: dict[str | None, Floats] = {}
        for qid, distribution in self.shares.items():
            what = "target" if qid is None else f"target of query {qid}"
            if isinstance(distribution, np.ndarray):
                if distribution.shape != shape:
                    raise MultiAspectError(
                        f"{what}: expected an array of the shape {shape}, one axis per dimension, got "
                        f"{distribution.shape}"
                    )
                shares = distribution
            else:
                shares = np.zeros(shape)
                for key, share in distribution.items():
                    cell = tuple(position_of[group] for position_of, group in zip(positions, key, strict=True))
                    shares[cell] = share
            _check_shares(what, shares)
            result[qid] = (shares / shares.sum()).ravel()
        return result


def _check_shares(what: str, shares: Floats) -> None:
    total = shares.sum()
    if not (shares >= 0).all() or not abs(total - 1.0) <= _TOLERANCE:
        raise MultiAspectError(
            f"{what}: expected shares of at least 0 that sum to 1, got the sum {total:g} and the minimum "
            f"{shares.min(initial=np.inf):g}"
        )
