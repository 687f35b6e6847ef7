"""What leaves the archive: folders of files that other tools read."""

from archive.export.xgl import export_xgl

__all__ = ["export_xgl"]
