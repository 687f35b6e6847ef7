"""python -m xgl check | canonical | diagram | play | games | judge."""

import sys

from xgl.cli import main

if __name__ == "__main__":
    sys.exit(main())
