"""Tools that draw every chart: scales, axes, marks and their styles.

Charts are SVG trees (``xgl.diagram.svg``). Colours are classes, which ``charts.css`` gives for
light and dark screens.
"""
