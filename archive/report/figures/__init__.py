"""The figures of a report: what a report holds, drawn as SVG trees for its page."""
