"""Adapters of an archive: content-addressed files, named by their SHA-256."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from archive.errors import DamagedError, LookupFailedError
from archive.store.disk import make_folder, writing
from xgl.reading import read_bytes
from xgl.writing import write_whole

ADAPTERS = "adapters"
_SUFFIX = ".safetensors"
MOST_BYTES = 4 << 30
"""Bytes of one adapter."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Adapters:
    """The adapters of one archive; `Archive` delegates to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, content: bytes) -> str:
        """Stores `content` whole and returns its SHA-256 in hex. Raises WriteError."""
        digest = sha256(content).hexdigest()
        path = self._path(digest)
        # Equal content is rewritten on purpose: this repairs a damaged file.
        with writing(path):
            make_folder(self.folder)
            write_whole(path, content)
        return digest

    def get(self, digest: str) -> bytes:
        """The content named `digest`. Raises LookupFailedError or DamagedError."""
        path = self._path(digest)
        try:
            content = read_bytes(path, MOST_BYTES, within=self.folder)
        except FileNotFoundError:
            raise LookupFailedError(
                f"{path}: found no such adapter, expected one of the {len(self.digests())} stored"
            ) from None
        except OSError as error:
            raise DamagedError(
                path, f"'{error.strerror}'", "a file that can be read", "unreadable"
            ) from error
        if (actual := sha256(content).hexdigest()) != digest:
            raise DamagedError(path, f"SHA-256 {actual}", digest)
        return content

    def drop(self, digest: str) -> None:
        """Removes the content named `digest`, if it is there. Raises WriteError."""
        path = self._path(digest)
        with writing(path):
            path.unlink(missing_ok=True)

    def digests(self) -> list[str]:
        """The digests stored, sorted."""
        stems = (path.stem for path in self.folder.glob(f"*{_SUFFIX}"))
        return sorted(name for name in stems if _DIGEST.fullmatch(name))

    def _path(self, digest: str) -> Path:
        # The name reaches the file system: nothing but a digest may become a path.
        if not _DIGEST.fullmatch(digest):
            raise LookupFailedError(
                f"{self.folder}: found adapter name {digest!r}, expected 64 hexadecimal digits"
            )
        return self.folder / f"{digest}{_SUFFIX}"
