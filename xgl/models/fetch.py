"""`python -m xgl.models.fetch smollm2`: get a model and print the folder it is in."""

from __future__ import annotations

import argparse
import sys

from xgl.models.errors import ModelNotFound
from xgl.models.resolve import resolve


def main() -> int:
    """0 with the folder on standard output, or 2 with one sentence on standard error."""
    parser = argparse.ArgumentParser(description="Get a model; print the folder it is in.")
    parser.add_argument("reference", help="embedded, smollm2, a folder, or a hub id")
    args = parser.parse_args()
    try:
        print(resolve(args.reference))
    except ModelNotFound as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
