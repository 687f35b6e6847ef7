"""The kit that every chart is drawn with: scales, axes, marks and their styles.

Charts are SVG trees (``xgl.diagram.svg``). Colours are classes, which ``charts.css`` gives for
light and dark screens.
"""
