"""The errors of an archive: each is one sentence that names the path or the row, what was found
and what is expected, so that a command line can print it unchanged."""


class ArchiveError(Exception):
    """Root of everything that an archive raises on purpose."""


class NotAnArchiveError(ArchiveError):
    """The folder does not exist, or is not an archive."""


class VersionError(ArchiveError):
    """The archive was written under another schema version."""


class DamagedError(ArchiveError):
    """A file of the archive is missing, truncated, altered or unreadable; ``found`` describes its
    contents."""

    def __init__(self, where: object, found: str, expected: str, state: str = "damaged") -> None:
        self.found = found
        super().__init__(f"{where} is {state}: found {found}, expected {expected}")


class LockedError(ArchiveError):
    """Another process, or another object of this one, writes to the archive."""


class RowError(ArchiveError):
    """A row does not fit the declared schema of its table."""


class WriteError(ArchiveError):
    """The archive or an export could not be written."""


class LookupFailedError(ArchiveError):
    """The requested table, column, identifier, run or adapter does not exist."""


class ExportError(ArchiveError):
    """The request cannot be exported; the message says what can be."""


class CoverError(ArchiveError):
    """No cover of the requested kind exists, or too few values are known to decide it."""


class RatingError(ArchiveError):
    """A payoff table cannot be rated, or no equilibrium was reached: the message says why."""
