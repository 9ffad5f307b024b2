"""The one error of this program: an option, a device or a checkpoint that does not fit."""

from __future__ import annotations

__all__ = ["TrainingError"]


class TrainingError(ValueError):
    """A request that cannot be met, with the fix."""
