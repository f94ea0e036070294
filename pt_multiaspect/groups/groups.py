"""Groups of documents and their target distribution."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from .._numbers import number
from .._typing import Floats, Ints, Objects
from ..aspects.names import Named, NameRegistry
from ..collection.columns import DOCUMENT_COLUMNS, as_floats, check_distinct_columns, id_column
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, choices, errors_of, refuse_none, refuse_repeated, shown
from ..kernels.hits import sums
from ..strings.identifiers import identifiers
from .files import groups_in_file
from .targets import GroupTarget, group_name, group_names


@dataclass(frozen=True, eq=False)
class Dimension:
    """The memberships of documents in the groups of one dimension, as sparse rows."""

    name: str
    groups: tuple[str, ...]
    #: The documents, sorted.
    docnos: pd.Index[Any]
    #: The memberships of the document at position i are those from ``start[i]`` to ``start[i + 1]``.
    start: Ints
    group: Ints
    share: Floats

    def expand(self, docnos: Objects) -> tuple[Ints, Ints, Floats]:
        """Return the indices in `docnos`, groups and shares of all memberships of documents."""
        position = self.docnos.get_indexer(pd.Index(docnos, dtype=object))
        index = np.flatnonzero(position >= 0)  # documents with memberships
        position = position[index]
        count = self.start[position + 1] - self.start[position]
        offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        row = np.repeat(self.start[position], count) + offset
        return np.repeat(index, count), self.group[row], self.share[row]

    def memberships(self, docnos: Objects) -> Floats:
        """Return the shares of the groups of documents, shape (n_documents, n_groups)."""
        (row, group, share), n_groups = self.expand(docnos), len(self.groups)
        return sums(row * n_groups + group, share, len(docnos) * n_groups).reshape(-1, n_groups)


class Groups(Named):
    """Groups of documents, in one or several dimensions, and the target distribution over them.

    Memberships are properties of documents, whether or not they are judged.

    Parameters
    ----------
    dimensions : mapping of str to mapping or DataFrame
        The dimensions, such as ``{"gender": memberships}``. Memberships are a mapping of each docno to its group,
        to a list of groups (a share of 1 in each) or to a mapping of groups to shares; or a DataFrame with a
        column ``docno`` (or ``doc_id``) and either a column ``group`` and, optionally, ``share`` (one row per
        document and group), or one numeric column per group.
    target : mapping, array or DataFrame, optional
        The fair distribution, whose shares sum to 1. A mapping ``{dimension: {group: share}}``, over several
        dimensions their product; the order of the groups is their order for ordinal divergences. Or an array with
        one axis per dimension (only if all dimensions have one column per group, whose order is that of the axis),
        or a DataFrame with one column per dimension and a column ``share``. One of these per query is a mapping
        ``{qid: target}``, or a DataFrame with a column ``qid`` (or ``query_id``). By default, the mean membership
        of the relevant documents of each query.
    name : str, optional
        The name of the groups in measure strings. By default, a name from a digest of the content: measures
        never print documents.

    Raises
    ------
    MultiAspectError
        If a share is not from 0 to 1, the shares of a target do not sum to 1, or a
        document belongs to a group that the target does not mention.

    Notes
    -----
    A document that belongs to no group, such as one of an unknown group, is left out of `dimensions`, unless
    ``"unknown"`` is a group with a share of the target. Shares of a document need not sum to 1 for `AWRF`: a
    document in two groups counts twice, as in the TREC Fair Ranking track of 2021.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> groups = ma.Groups(
    ...     {"gender": {"d1": "f", "d2": "m", "d3": {"f": 0.5, "m": 0.5}}},
    ...     target={"gender": {"f": 0.5, "m": 0.5}},
    ...     name="authors",
    ... )
    >>> groups
    Groups('authors': gender (f, m; 3 documents))
    """

    registry: ClassVar[NameRegistry[Groups]]

    def __init__(self, dimensions: Mapping[str, object], *, target: object = None, name: str | None = None) -> None:
        if not isinstance(dimensions, Mapping) or not dimensions:
            raise MultiAspectError(
                f"dimensions: expected a mapping of at least one dimension to its memberships, got "
                f"{shown(dimensions)}"
            )
        rows, ordered = {}, {}
        for dimension, memberships in dimensions.items():
            if not isinstance(dimension, str) or not dimension.strip():
                raise MultiAspectError(f"dimensions: expected names, got {dimension!r}")
            rows[dimension], ordered[dimension] = _memberships(dimension, memberships)
        table = None if target is None else GroupTarget.read(target, list(rows), ordered)
        declared = ordered if table is None else ordered | table.groups
        self.dimensions: tuple[Dimension, ...] = tuple(
            _dimension(dimension, members, declared[dimension]) for dimension, members in rows.items()
        )
        groups = [dimension.groups for dimension in self.dimensions]
        #: The target per query, or that of all queries under the key None; None for that of relevant documents.
        self._targets: dict[str | None, Floats] | None = None if table is None else table.arrays(groups)
        #: Whether the order of the groups was declared.
        self.is_ordered: bool = all(ordered.values()) if table is None else table.is_ordered
        self._digest = self._make_digest()
        self.name: str | None = f"groups-{self._digest[:12]}" if name is None else name
        Groups.registry.add(self)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Groups:
        """Read groups from a file.

        Parameters
        ----------
        path : str or path
            A table (``.csv``, ``.tsv``) with a header and one row per document and group: the columns ``docno``,
            ``group`` and, optionally, ``share`` (1 by default) and ``dimension``. It has no target. Or a JSON
            object (``.json``) with the keys ``dimensions`` and, optionally, ``target`` and ``name``, the parameters
            of `Groups`; instead of its memberships, a dimension may have the name of a table in the same directory.
            Files may be compressed by gzip, bzip2 or Zstandard.

        Returns
        -------
        Groups
            The groups, with the name in the file, or else the name of the file.

        Raises
        ------
        MultiAspectError
            If the file cannot be read, or does not contain valid groups. The message starts with its name.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "curators.json"
        >>> _ = path.write_text('{"dimensions": {"gender": {"d1": "f", "d2": "m"}}}')
        >>> Groups.from_file(path)
        Groups('curators': gender (f, m; 2 documents))
        """
        with errors_of(path):
            return cls(**groups_in_file(path))

    def _make_digest(self) -> str:
        digest = hashlib.sha256()
        for dimension in self.dimensions:
            names = "\x1f".join((dimension.name, *dimension.groups, *dimension.docnos))
            digest.update(names.encode("utf-8", "surrogatepass"))
            for array in (dimension.start, dimension.group):
                digest.update(np.asarray(array, dtype="<i8").tobytes())
            digest.update(np.asarray(dimension.share, dtype="<f8").tobytes())
        digest.update(repr(self.is_ordered).encode())
        for qid, shares in sorted((self._targets or {}).items(), key=str):
            digest.update(repr(qid).encode("utf-8", "surrogatepass") + np.asarray(shares, dtype="<f8").tobytes())
        return digest.hexdigest()

    @property
    def has_target(self) -> bool:
        """Whether the target is given, rather than derived from the relevant documents."""
        return self._targets is not None

    @property
    def n_cells(self) -> int:
        """The number of combinations of groups, one of each dimension."""
        return int(np.prod([len(dimension.groups) for dimension in self.dimensions]))

    def cells(self, docnos: Objects) -> tuple[Ints, Ints, Floats]:
        """Return the memberships of documents in combinations of groups.

        Parameters
        ----------
        docnos : ndarray of str, shape (n,)
            Documents.

        Returns
        -------
        tuple of ndarray, shape (n_memberships,)
            The positions of the documents, the numbers of the combinations, and the products of the shares.
        """
        item = np.arange(len(docnos))
        cell, share = np.zeros(len(docnos), dtype=np.intp), np.ones(len(docnos))
        for dimension in self.dimensions:
            index, group, factor = dimension.expand(docnos[item])
            item, cell, share = item[index], cell[index] * len(dimension.groups) + group, share[index] * factor
        return item, cell, share

    def target(self, qids: Sequence[str]) -> Floats:
        """Return the given target of each query, shape (n_queries, n_cells).

        Parameters
        ----------
        qids : sequence of str
            The queries.

        Returns
        -------
        ndarray of float, shape (n_queries, n_cells)
            Rows sum to 1.
        """
        targets = self._targets or {}
        if None in targets:
            return np.repeat(targets[None][None], len(qids), axis=0)
        missing = [qid for qid in qids if qid not in targets]
        if missing:
            raise MultiAspectError(
                f"{self.name}: expected a target for each judged query, got none for {choices(missing[:10])}"
            )
        return np.stack([targets[qid] for qid in qids]) if len(qids) else np.zeros((0, self.n_cells))

    def to_json(self) -> str:
        """Return a summary without documents that differs for different content.

        Returns
        -------
        str
            The name, the groups of each dimension, and a digest.
        """
        return f"{self} with digest {self._digest[:12]}"

    def __repr__(self) -> str:
        summary = ", ".join(
            f"{dimension.name} ({', '.join(dimension.groups[:10])}{', …' if len(dimension.groups) > 10 else ''}; "
            f"{len(dimension.docnos)} document{'s' if len(dimension.docnos) != 1 else ''})"
            for dimension in self.dimensions
        )
        return f"Groups({self.name!r}: {summary})"

    @property
    def _content_key(self) -> str:
        return self._digest

    @property
    def _state(self) -> dict[str, Any]:
        return dict(self.__dict__)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Groups:
        restored = object.__new__(cls)
        restored.__dict__.update(state)
        return restored


Groups.registry = NameRegistry(Groups, "groups")


# -- memberships ---------------------------------------------------------------------------------------


def _memberships(dimension: str, members: object) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the columns docno, group and share of a dimension and, if its groups are columns, these in order."""
    frame, columns = to_pandas(members), []
    if frame is None:
        docnos, groups, shares = _read_mapping(dimension, members)
    else:
        check_distinct_columns(frame, dimension)
        documents = id_column(frame, DOCUMENT_COLUMNS, dimension)
        docnos, shares = identifiers(documents, dimension), np.ones(len(frame))
        if "group" in frame.columns:
            groups = group_names(frame["group"], dimension)
            shares = as_floats(frame["share"]) if "share" in frame.columns else shares
        else:
            columns = [group_name(dimension, column) for column in frame.columns if column != documents.name]
            groups = np.repeat(np.array(columns, dtype=object), len(frame))
            docnos = np.tile(docnos, len(columns))
            shares = np.concatenate([np.zeros(0), *(as_floats(frame[column]) for column in columns)])
    wrong = np.flatnonzero(~((shares >= 0) & (shares <= 1)))
    if len(wrong):
        raise MultiAspectError(
            f"{dimension}: expected shares from 0 to 1, got {shares[wrong[0]]:g} for document {docnos[wrong[0]]}"
        )
    ids = {"docno": pd.Series(docnos, dtype=object), "group": pd.Series(groups, dtype=object)}
    return pd.DataFrame({**ids, "share": shares}), tuple(columns)


def _read_mapping(dimension: str, members: object) -> tuple[Objects, Objects, Floats]:
    if not isinstance(members, Mapping):
        raise MultiAspectError(
            f"{dimension}: expected a mapping of documents to groups, or a DataFrame, got {type(members).__name__}"
        )
    rows: list[tuple[str, str, float]] = []
    for docno, membership in members.items():
        if isinstance(membership, str):
            shares_by_group: Mapping[Any, Any] = {membership: 1.0}
        elif isinstance(membership, Mapping):
            shares_by_group = membership
        elif isinstance(membership, Iterable):
            listed = list(membership)
            shares_by_group = dict.fromkeys(listed, 1.0)
            refuse_repeated(listed, f"groups for document {docno}", dimension)
        else:
            raise MultiAspectError(
                f"{dimension}: expected a group, a list of groups or a mapping of groups to shares for document "
                f"{docno}, got {membership!r}"
            )
        rows += [
            (str(docno), group_name(dimension, group), number(share, f"{dimension}: the share of document {docno}"))
            for group, share in shares_by_group.items()
        ]
    docnos, groups, shares = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(docnos, dtype=object), np.array(groups, dtype=object), np.array(shares, dtype=np.float64)


def _dimension(name: str, rows: pd.DataFrame, groups: tuple[str, ...]) -> Dimension:
    refuse_repeated(zip(rows["docno"], rows["group"], strict=True), "documents in each group", name)
    # Without a declared order, groups are sorted by name.
    groups = groups or tuple(sorted(rows["group"].unique()))
    refuse_none(groups, "group", name)
    position = pd.Index(groups, dtype=object).get_indexer(pd.Index(rows["group"]))
    rows = rows.assign(position=position)[rows["share"] > 0]
    unknown = rows[rows["position"] < 0]
    if len(unknown):
        raise MultiAspectError(
            f"{name}: document {unknown['docno'].iloc[0]} belongs to the group {unknown['group'].iloc[0]}, which "
            f"the target does not mention: {choices(groups)}. Give the group a share (0 is possible), or leave out "
            "documents of unknown groups"
        )
    rows = rows.sort_values(["docno", "position"])
    docnos, count = np.unique(rows["docno"].to_numpy(dtype=object), return_counts=True)
    start = np.append(0, np.cumsum(count)).astype(np.intp)
    group, share = rows["position"].to_numpy(dtype=np.intp), rows["share"].to_numpy(dtype=np.float64)
    return Dimension(name, groups, pd.Index(docnos, dtype=object), start, group, share)
