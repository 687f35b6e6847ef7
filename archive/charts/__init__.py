"""Figures as SVG trees: colours are classes, which the style sheet gives for light and dark."""
