"""Configuration: groups of settings, their validation, and how they are composed."""
