"""Random numbers from explicit keys: the same numbers on every device.

There is no hidden state. :func:`key` makes a key of a seed; every function takes one, and gives the
same numbers for the same key. :func:`split` and :func:`fold_in` make new keys: a key is used once.

The generator is Threefry-2x32 with 20 rounds, which makes the number at a position of the key and
the position alone.
"""

from typing import TYPE_CHECKING

from portarray import _name_hints
from portarray.random.keys import fold_in, key, split
from portarray.random.numbers import bits, exponential, integers, normal, uniform
from portarray.random.sampling import choice, permutation

__all__ = [
    "bits",
    "choice",
    "exponential",
    "fold_in",
    "integers",
    "key",
    "normal",
    "permutation",
    "split",
    "uniform",
]

if not TYPE_CHECKING:  # a type checker would take every name to be there
    __getattr__ = _name_hints.module_getattr(__name__)
