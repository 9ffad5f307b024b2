"""What array-api-strict gets wrong, or refuses and portarray takes everywhere."""

from portarray_strict.namespace import fft
from portarray_strict.namespace.indexing import getitem, item, setitem
from portarray_strict.namespace.manipulation import reshape

__all__ = ["fft", "getitem", "item", "reshape", "setitem"]
