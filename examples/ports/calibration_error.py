"""The calibration error of a classifier, as torchmetrics has it, on any device."""

from __future__ import annotations

from typing import Any


def calibration_error(probabilities: Any, target: Any, /, *, bins: int = 15) -> Any:
    """Return the expected difference between a classifier's confidence and its accuracy.

    ``probabilities`` has shape (examples, classes) and ``target`` the right classes. Guo, Pleiss,
    Sun and Weinberger, "On calibration of modern neural networks", ICML (2017).
    """
    xp = probabilities.__array_namespace__()
    dtype, device = probabilities.dtype, probabilities.device
    confidence = xp.max(probabilities, axis=1)
    right = xp.astype(xp.argmax(probabilities, axis=1) == target, dtype)

    edges = xp.linspace(0, 1, bins + 1, dtype=dtype, device=device)
    index = xp.searchsorted(edges, confidence, side="right") - 1
    every = xp.arange(bins + 1, dtype=index.dtype, device=device)  # the last one is 1.0 alone
    member = xp.astype(every[:, None] == index[None, :], dtype)

    # The share of a bin times the difference of its means.
    differences = member @ confidence - member @ right
    return xp.sum(xp.abs(differences)) / confidence.shape[0]
