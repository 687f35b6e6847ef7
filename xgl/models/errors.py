"""What can be wrong with a model reference."""

from __future__ import annotations

from xgl.errors import XGLError


class ModelNotFound(XGLError, ValueError):  # noqa: N818  # it says what happened
    """A reference that leads to no usable model; the message is one sentence for the user."""
