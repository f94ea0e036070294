"""Files of published collections: read from the data directory or downloaded to it, and checked."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import MultiAspectError
from .file_contents import Text, as_text, load

#: The environment variable that names the data directory.
DATA_VARIABLE = "PT_MULTIASPECT_DATA"

_SERVER = "https://raw.githubusercontent.com"
_TIMEOUT = 30  # seconds without a response

Rows = Iterator[list[bytes]]


def trec_fields(text: Text) -> Rows:
    """Yield the fields of each line of a TREC file."""
    for line in text.lines():
        yield line.fields


def a66_fields(text: Text) -> Rows:
    """Yield the fields of each judgment of A66: six, separated by commas.

    The published file has comments in further fields, and no header. Copies may have a header,
    which begins with ``assessor``.
    """
    for line in text.lines():
        fields = line.content.rstrip(b"\r").split(b",")
        is_header = fields[0] == b"assessor"
        if not is_header:
            yield fields[:6]


@dataclass(frozen=True)
class Repository:
    """A commit of a public repository."""

    name: str
    commit: str

    @property
    def url(self) -> str:
        """The page of the commit."""
        return f"https://github.com/{self.name}/tree/{self.commit}"


@dataclass(frozen=True)
class DataFile:
    """A file of a repository.

    The checksum is that of the fields that are read, not of the bytes, as copies may separate
    fields by blanks or tabs, have Windows line endings, or be compressed.
    """

    #: The path in the data directory, with or without the suffix .gz.
    name: str
    repository: Repository
    path: str
    sha256: str
    rows: Callable[[Text], Rows] = trec_fields

    @property
    def url(self) -> str:
        """The address of the file."""
        return f"{_SERVER}/{self.repository.name}/{self.repository.commit}/{quote(self.path)}"

    def read(self) -> Text:
        """Return the content, downloaded if it is not in the data directory.

        Raises
        ------
        MultiAspectError
            If the file cannot be downloaded, or its content differs from the published one.
        """
        path = _data_directory() / self.name
        compressed_path = path.with_name(f"{path.name}.gz")
        for copy in (path, compressed_path):
            if copy.is_file():
                remedy = "Delete the file, and it will be downloaded again"
                return self._load_checked(copy, remedy)
        self._download(path)
        try:
            remedy = "The server, or a proxy, sent something else; the file was deleted"
            return self._load_checked(path, remedy)
        except MultiAspectError:
            path.unlink(missing_ok=True)
            raise

    def _load_checked(self, path: Path, remedy: str) -> Text:
        """Return the content of a copy; raise an error if it differs from the published one."""
        try:
            content = load(path)
            text = as_text(content.name, content.data)
        except MultiAspectError as error:
            raise MultiAspectError(f"{error}. {remedy}") from error
        digest = hashlib.sha256()
        for fields in self.rows(text):
            row = b"\t".join(fields) + b"\n"
            digest.update(row)
        checksum = digest.hexdigest()
        if checksum != self.sha256:
            expected_start = self.sha256[:12]
            start = checksum[:12]
            raise MultiAspectError(
                f"{path}: expected the judgments of {self.path} in {self.repository.url} (SHA-256 "
                "of their fields "
                f"{expected_start}…), got others ({start}…). {remedy}"
            )
        return text

    def _download(self, path: Path) -> None:
        """Download the file to a path."""
        pooch = _pooch()
        logger = pooch.get_logger()
        usual_level = logger.level
        # At its usual level, pooch prints the checksum of the bytes, which may differ.
        logger.setLevel(logging.WARNING)
        try:
            pooch.retrieve(
                self.url,
                known_hash=None,
                fname=path.name,
                path=path.parent,
                downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
            )
        except (OSError, ValueError) as error:  # errors of requests are OSErrors
            raise MultiAspectError(
                f"{self.url} cannot be downloaded: {error}. Without a network, save the file as "
                f"{path} (or set {DATA_VARIABLE} to a directory that contains {self.name})"
            ) from error
        finally:
            logger.setLevel(usual_level)


def _data_directory() -> Path:
    """Return the directory of data files: from the environment variable, or the user's cache."""
    directory = os.environ.get(DATA_VARIABLE)
    if not directory:
        return Path(_pooch().os_cache("pt_multiaspect"))
    folder = Path(directory).expanduser()
    if not folder.is_dir():
        raise MultiAspectError(
            f"{DATA_VARIABLE}: expected an existing directory, got {directory!r}"
        )
    return folder


def _pooch() -> Any:
    """Return the module pooch, which downloads files and is an optional dependency."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "downloading collections requires pooch, which is part of the extra data: pip install "
            f"'pt-multiaspect[data]'; or set {DATA_VARIABLE} to a directory that contains the files"
        ) from error
    return pooch
