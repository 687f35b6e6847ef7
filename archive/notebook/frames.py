"""Arrow tables as what the reader works with: pandas, Polars, or Arrow itself."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal, get_args

import pyarrow as pa

from archive.errors import LookupFailedError

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def chosen_backend(name: str | None) -> Backend:
    """The library that makes data frames; without a name the first that is installed, and Arrow,
    which always is, where no other is. Raises LookupFailedError."""
    for each in BACKENDS:
        if name in (None, each) and find_spec(each) is not None:
            return each
    if name in BACKENDS:
        raise LookupFailedError(
            f"backend: {name} is not installed, expected it: pip install {name}"
        )
    raise LookupFailedError(f"backend: found {name!r}, expected one of {', '.join(BACKENDS)}")


def data_frame(table: pa.Table, backend: Backend) -> Any:
    """``pandas.DataFrame``, ``polars.DataFrame`` or the ``pyarrow.Table`` itself."""
    match backend:
        case "pandas":
            return table.to_pandas()
        case "polars":
            import polars

            return polars.from_arrow(table)
    return table
