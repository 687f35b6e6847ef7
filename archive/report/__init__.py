"""A run as one page: gathered from the archive's rows, drawn as SVG, written as one file."""
