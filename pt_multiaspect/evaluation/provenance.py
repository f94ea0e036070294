"""Provenance of values: versions, inputs, scales and measures, as ir_metadata where it has fields.

Breuer, Keller, Schaer: ir_metadata: An Extensible Metadata Schema for IR Experiments. SIGIR 2022.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd

from ..aspects import Aspects
from ..collection import Judgments, Run
from ..errors import MultiAspectError, choices, warn
from ..integration.provider import supports
from ..io.file_contents import Content, as_text, load, observe_files
from ..io.trec_files import split_metadata
from .digests import content_digest, installed_versions
from .filling import FILLED

#: The end of the name of the file with the provenance of another one.
SUFFIX = ".ir_metadata.yml"

#: Numbers of YAML 1.2 that are strings in YAML 1.1.
_EXPONENT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)[eE][-+]?\d+$", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+$")


def provenance(
    runs: Mapping[str, object],
    qrels: Mapping[str, object],
    judgments: Judgments,
    measures: Mapping[str, ir_measures.Measure],
    *,
    baseline: str | None = None,
    test: Mapping[str, str] | None = None,
    command: str | None = None,
    table: str | None = None,
    files: Mapping[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the provenance of values as nested mappings, lists and plain values.

    Parameters
    ----------
    runs : mapping of str to run
        The runs by name.
    qrels : mapping of str to path or Judgments
        The qrels by aspects.
    judgments : Judgments
        The content of the qrels.
    measures : mapping of str to Measure
        The measures by label.
    baseline : str, optional
        The run that the others are compared with.
    test : mapping of str to str, optional
        The significance test, with the keys name and correction method.
    command : str, optional
        The command line.
    table : str, optional
        The digest of the table of values that the provenance is written for.
    files : mapping of str to dict, optional
        What `record_files` has recorded of the files of runs and qrels. Others are read.
    """
    reported: dict[str, Any] = {"reported measures": [str(measure) for measure in measures.values()]}
    if baseline is not None:
        reported["baseline"] = [baseline]
    if test is not None:
        reported["significance test"] = [dict(test)]
    implementation = {} if command is None else {"executable": {"cmd": command}}
    data = {"test collection": {"qrels": [_source(source) for source in qrels.values()]}}
    # Information for which the schema has no fields.
    own: dict[str, Any] = {
        "measures": measures_in_full(measures),
        "scales": _scales(judgments, measures),
        "qrels": {aspects: _entry(source, files or {}) for aspects, source in qrels.items()},
        "runs": {name: _entry(run, files or {}) for name, run in runs.items()},
    }
    if table is not None:
        own["table"] = {"digest": table}
    return _platform_record(reported, implementation, {"data": data, "pt_multiaspect": own})


def provenance_of_values(
    values: Mapping[str, pd.DataFrame], measures: Mapping[str, str], scales: Aspects | None = None
) -> dict[str, Any]:
    """Return the provenance of frames of values, by what they are, of their measures by label, and of scales."""
    own: dict[str, Any] = {"measures": dict(measures)}
    if scales is not None:
        own["scales"] = {name: aspect.to_spec() for name, aspect in scales.items()}
    own |= {what: {"digest": content_digest(frame)} for what, frame in values.items()}
    return _platform_record({"reported measures": list(measures.values())}, {}, {"pt_multiaspect": own})


def _platform_record(
    reported: Mapping[str, Any], implementation: Mapping[str, Any], content: Mapping[str, Any]
) -> dict[str, Any]:
    """Return provenance with the versions of this platform."""
    versions = installed_versions()
    source = {"lang": [f"python {versions.pop('python')}"]}
    return {
        "schema-version": 0.1,
        "platform": {
            "operating system": {"kernel": f"{platform.system()} {platform.release()}"},
            "software": {"libraries": {"python": [f"{name}=={version}" for name, version in versions.items()]}},
        },
        "research goal": {"evaluation": dict(reported)},
        "implementation": {"source": source, **implementation},
        **content,
    }


def measures_in_full(measures: Mapping[str, ir_measures.Measure]) -> dict[str, str]:
    """Return printed measures, with their scales instead of names, which other processes do not know."""
    printed = {}
    for label, measure in measures.items():
        scales = measure.params.get("aspects")
        is_named = isinstance(scales, Aspects) and scales.name is not None
        printed[label] = str(measure(aspects=Aspects(scales)) if is_named else measure)
    return printed


def record_path(path: str) -> str:
    """Return the path of the record of a table; a table that a symbolic link points to has it beside it."""
    file = os.path.expanduser(path)
    return (os.path.realpath(file) if os.path.islink(file) else path) + SUFFIX


def remove_record(path: str) -> None:
    """Remove the record of an earlier table, if this package has written it."""
    file = Path(record_path(path)).expanduser()
    if file.is_file() and _own_record(file):
        with suppress(OSError):  # it is left aside, as its digest is that of another table
            file.unlink()


def recorded_measures(path: str, labels: Collection[str], digest: str) -> dict[str, str]:
    """Return the printed measures of the columns of a table, by label, from its record.

    Parameters
    ----------
    path : str
        The table, which may have been compressed after it was written, or be a symbolic link.
    labels : collection of str
        The columns.
    digest : str
        The digest of its content.

    Returns
    -------
    dict of str to str
        Empty if there is no record.

    Warns
    -----
    MultiAspectWarning
        If there are only records of other tables, or of other measures.
    """
    target = os.path.realpath(os.path.expanduser(path))
    tables = [table for file in (path, target) for table in (file, os.path.splitext(file)[0])]
    files = list(filter(Path.is_file, (Path(f"{table}{SUFFIX}").expanduser() for table in tables)))
    for record in map(_own_record, files):
        measures = record.get("measures")
        if record.get("table") == {"digest": digest} and isinstance(measures, Mapping) and {*labels} <= {*measures}:
            return {label: str(measures[label]) for label in labels}
    if files:
        warn(
            f"{files[0]}: expected the measures {choices(labels)} of {path} and the digest of its content, got "
            "others: its columns are read as the measures that they name; pass measures={label: measure}, or "
            "write both files again"
        )
    return {}


def _own_record(file: Path) -> Mapping[str, Any]:
    """Return what only this package writes in a record; nothing if it did not write the file."""
    import yaml

    try:
        own = yaml.safe_load(file.read_bytes())["pt_multiaspect"]
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return {}
    return own if isinstance(own, Mapping) else {}


def _source(source: object) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "in memory"


@contextmanager
def record_files(entries: dict[str, dict[str, Any]]) -> Iterator[None]:
    """Add what is recorded of each file that this thread reads, by its absolute path."""

    def record(path: str, data: bytes, content: Content) -> None:
        with suppress(MultiAspectError):  # of a damaged header, which its reader refuses
            entries[_absolute(path)] = _file_entry(path, data, content)

    with observe_files(record):
        yield


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _entry(source: object, files: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what is recorded of a file, read here if it was not before; or a digest of an object in memory."""
    if not isinstance(source, str | os.PathLike):
        rows = _labels(source) if isinstance(source, Judgments) else Run.of(source).to_pandas()
        filled = source.attrs.get(FILLED) if isinstance(source, Judgments) else None
        return {"digest": content_digest(rows)} | ({FILLED: filled} if filled else {})
    path = _absolute(source)
    if path in files:
        return files[path]
    data = Path(path).read_bytes()  # such as a run that a worker has read
    return _file_entry(path, data, load(io.BytesIO(data)))


def _file_entry(path: str, data: bytes, content: Content) -> dict[str, Any]:
    """Return the digest of a file, as of sha256sum, and the header of a run."""
    entry: dict[str, Any] = {"file": os.path.basename(path), "sha256": hashlib.sha256(data).hexdigest()}
    if b"ir_metadata.start" in content.data[:100]:
        entry["ir_metadata"], _ = split_metadata(as_text(*content))
    record = Path(record_path(path))
    own = _own_record(record) if record.is_file() else {}
    if FILLED in own and own.get("sha256") == entry["sha256"]:
        entry[FILLED] = own[FILLED]
    return entry


def _labels(judgments: Judgments) -> pd.DataFrame:
    """Return the judged pairs and their labels, in a form that is equal for all forms of the qrels."""
    pairs = {"qid": judgments.qids[judgments.pool_query], "docno": judgments.docnos}
    return pd.DataFrame({**pairs, **{name: judgments.labels(name) for name in judgments.label_names}})


def _scales(judgments: Judgments, measures: Mapping[str, ir_measures.Measure]) -> list[dict[str, Any]]:
    """Return the scales of the aspects, declared or inferred, with the measures that use them."""
    scales: dict[str, dict[str, Any]] = {}
    for label, measure in measures.items():
        if supports(measure):
            views = measure.views(judgments)
            aspects = {view.name: view.aspect.to_spec() for view in views}
            inferred = [view.name for view in views if view.inferred]
            entry = scales.setdefault(json.dumps([aspects, inferred]), {"measures": [], "aspects": aspects})
            entry["measures"].append(label)
            if inferred:
                entry["inferred"] = inferred
    return list(scales.values())


def as_yaml(content: Mapping[str, Any]) -> str:
    """Return nested mappings, lists and plain values as YAML."""
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        """PyYAML writes YAML 1.1, and would not quote what is a number in YAML 1.2 only."""

    Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("+-.0123456789"))
    Dumper.add_implicit_resolver("tag:yaml.org,2002:int", _OCTAL, ["0"])
    text = json.dumps(content, ensure_ascii=False)
    # PyYAML writes only plain types, and escapes U+0085, which it reads as a line break, only with all others.
    plain, is_readable = json.loads(text), text.isprintable()
    return str(yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=is_readable, width=sys.maxsize))
