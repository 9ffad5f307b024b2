"""Random numbers from explicit keys: the same numbers on every device.

There is no hidden state. :func:`key` makes a key from a seed. Every function takes a key, and
returns the same numbers for the same key. Use a key once: :func:`split` and :func:`fold_in` make
new ones.

The generator is Threefry-2x32 with 20 rounds: a number depends only on the key and its position.
"""

from typing import TYPE_CHECKING

from portarray import _name_hints
from portarray.random.continuous import laplace, multivariate_normal, truncated_normal
from portarray.random.counts import binomial, categorical, poisson
from portarray.random.gamma_family import beta, dirichlet, gamma, student_t
from portarray.random.keys import fold_in, key, split
from portarray.random.numbers import bits, exponential, integers, normal, uniform
from portarray.random.sampling import choice, permutation

__all__ = [
    "beta",
    "binomial",
    "bits",
    "categorical",
    "choice",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "integers",
    "key",
    "laplace",
    "multivariate_normal",
    "normal",
    "permutation",
    "poisson",
    "split",
    "student_t",
    "truncated_normal",
    "uniform",
]

if not TYPE_CHECKING:  # a type checker would take every name to be there
    __getattr__ = _name_hints.module_getattr(__name__)
