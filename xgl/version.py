"""The version of everything that one installation holds."""

__version__ = "0.1.0"
