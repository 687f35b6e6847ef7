"""``python -m evo`` is ``python -m evo.run``."""

import sys

from evo.run import main

if __name__ == "__main__":
    sys.exit(main())
