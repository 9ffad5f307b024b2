"""OpenCL C source of the kernels."""

from functools import cache
from importlib.resources import files


@cache
def kernel_source(name: str) -> str:
    """Return the text of ``NAME.cl`` in this folder."""
    return (files(__name__) / f"{name}.cl").read_text("utf-8")
