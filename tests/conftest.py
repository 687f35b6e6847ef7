"""What holds for every test."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)  # how long an example takes proves nothing
settings.load_profile("patient")
