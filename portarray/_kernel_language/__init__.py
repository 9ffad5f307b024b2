"""User kernels: from a Python function to programs for devices.

``source`` reads a function's text, ``frontend`` makes a typed ``tree`` of it for the types of some
arguments, ``printer`` prints that as a program of a C-like language (``dialects``), and
``interpreter`` as Python, which is the oracle. ``derivatives`` writes the kernel that computes a
kernel's vector-Jacobian product. ``kernel`` is what users call.
"""
