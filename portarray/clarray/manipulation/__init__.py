"""Manipulation functions."""

from portarray.clarray.manipulation.joining import concat, repeat, stack, tile, unstack
from portarray.clarray.manipulation.order import flip, moveaxis, permute_dims, roll
from portarray.clarray.manipulation.shapes import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    reshape,
    squeeze,
)

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip"]
__all__ += ["moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile"]
__all__ += ["unstack"]
