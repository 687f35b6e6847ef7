"""python -m xgl check | format | canonical | diagram | play."""

import sys

from xgl.cli import main

if __name__ == "__main__":
    sys.exit(main())
