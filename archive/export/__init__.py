"""Exports: folders of files that other tools read."""
