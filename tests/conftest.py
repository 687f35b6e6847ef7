"""What holds for every test."""

import os

# Two processes share two cores; to be said before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("patient", deadline=None)  # how long an example takes proves nothing
settings.load_profile("patient")
