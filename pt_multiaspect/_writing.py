"""Atomic writing of files."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from contextlib import suppress
from os import PathLike
from pathlib import Path

#: Error numbers of directories in which files cannot be created or renamed.
_FIXED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)


def write_file(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file; if an error occurs, an earlier file remains unchanged.

    The content is written to a temporary file, which then replaces the earlier one. A file that a symbolic link
    points to is replaced, and the link is kept. The permissions are those of the earlier file. Pipes,
    devices, and files in directories without write permission are written in place.

    Parameters
    ----------
    path : str or path
        The file; ``~`` is the home directory.
    content : str or bytes
        The content; strings are written in UTF-8.

    Raises
    ------
    OSError
        If the file cannot be written; the error has its name.
    """
    # File names that are not UTF-8 are kept as they are.
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    file = Path(os.path.expanduser(path))
    try:
        try:
            earlier: os.stat_result | None = file.stat()
        except FileNotFoundError:
            earlier = None
        if earlier is not None and is_special(path):
            file.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(file)), data, earlier)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def is_special(path: str | PathLike[str]) -> bool:
    """Return whether an existing file is a pipe or device, for which no temporary file can be used."""
    file = Path(os.path.expanduser(path))
    return file.is_relative_to("/dev") or file.is_relative_to("/proc") or not stat.S_ISREG(file.stat().st_mode)


def _replace(file: Path, data: bytes, earlier: os.stat_result | None) -> None:
    if earlier is not None and not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = file.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        with open(temporary, "xb") as beside:
            beside.write(data)
        if earlier is not None:
            with suppress(OSError, AttributeError):  # not possible on all systems and for all users
                os.chown(temporary, earlier.st_uid, earlier.st_gid)
            temporary.chmod(stat.S_IMODE(earlier.st_mode))
        os.replace(temporary, file)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if earlier is None or not isinstance(error, OSError) or error.errno not in _FIXED:
            raise
        file.write_bytes(data)
