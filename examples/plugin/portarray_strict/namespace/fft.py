"""Fourier transforms of real arrays, which the standard lets a library refuse."""

from collections.abc import Callable
from typing import Any

import array_api_strict as strict


def _of_any(function: Callable[..., Any]) -> Callable[..., Any]:
    def transform(x: Any, /, **options: Any) -> Any:
        if not strict.isdtype(x.dtype, "complex floating"):
            wide = strict.complex64 if x.dtype == strict.float32 else strict.complex128
            x = strict.astype(x, wide)
        return function(x, **options)

    return transform


fft, ifft = _of_any(strict.fft.fft), _of_any(strict.fft.ifft)
fftn, ifftn = _of_any(strict.fft.fftn), _of_any(strict.fft.ifftn)
