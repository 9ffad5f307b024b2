"""NumPy's functions on portarray arrays: computed on the device, or an error with a hint.

One file for each category of NumPy's reference; imported with the first call.
"""

from portarray._numpy_functions import (  # noqa: F401  (each adds its functions to the table)
    contraction,
    creation,
    differences,
    files,
    fourier,
    histograms,
    indexing,
    linear_algebra,
    manipulation,
    mathematics,
    ordering,
    rearranging,
    reductions,
    without_nan,
)
from portarray._numpy_functions.table import answer as function
from portarray._numpy_functions.table import store
from portarray._numpy_functions.ufuncs import answer as ufunc
from portarray._numpy_functions.ufuncs import is_numpys, special

__all__ = ["function", "is_numpys", "special", "store", "ufunc"]
