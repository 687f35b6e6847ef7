"""Exports: folders of files that other tools read."""

from archive.export.dataset import export_dataset
from archive.export.peft import export_peft
from archive.export.preferences import export_moves
from archive.export.verifiers import export_verifiers
from archive.export.xent import MeasureExport, Options, export_xent
from archive.export.xgl import export_xgl

__all__ = [
    "MeasureExport",
    "Options",
    "export_dataset",
    "export_moves",
    "export_peft",
    "export_verifiers",
    "export_xent",
    "export_xgl",
]
