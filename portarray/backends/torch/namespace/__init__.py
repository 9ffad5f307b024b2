"""The array API standard on PyTorch's tensors, in a file for each of its categories.

What is missing here (``unique_all``, ``broadcast_shapes``) is composed from the rest in
``backends/composed``.
"""
