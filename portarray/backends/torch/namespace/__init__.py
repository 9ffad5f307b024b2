"""The array API standard on PyTorch's tensors, in a file for each of its chapters.

What is missing here (``unique_all``, ``broadcast_shapes``) is composed from the rest in
``backends/composed``.
"""

TAKES_SCALARS = False
"""PyTorch's functions of two tensors take few Python scalars, and some of them go another way."""

STANDARD = None
"""PyTorch has no namespace of the standard."""
