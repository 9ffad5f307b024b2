"""The namespace for `cubed <https://cubed-dev.github.io/cubed/>`_: chunks on devices.

``CUBED_BACKEND_ARRAY_API_MODULE=portarray.cubed``, set before cubed is imported, makes cubed
compute with portarray, on each worker's default device. It is ``portarray``'s namespace but for the
functions that cubed calls with arguments which NumPy takes and the standard does not have. Those
are NumPy's, which compute on the device of their array.
"""

from __future__ import annotations

from typing import Any

from numpy import diff, full_like, mean, nansum, squeeze

import portarray as pa

__all__ = ["diff", "full_like", "mean", "nansum", "squeeze"]


def __getattr__(name: str) -> Any:
    return getattr(pa, name)
