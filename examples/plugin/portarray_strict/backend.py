"""array-api-strict as a backend: the library's own functions, where they do right."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import array_api_strict as strict
import numpy as np

from portarray.backends.base import Backend
from portarray.backends.common import machine
from portarray.backends.types import Description

# Names for one CPU, whose arrays the library refuses to mix. It has two more, without float64 and
# without any 64-bit type, where its own functions fail: NumPy's indices and sums have 64 bits.
_DEVICES = (strict.Device("CPU_DEVICE"), strict.Device("device1"), strict.Device("device2"))

_DTYPES = {
    np.dtype(name): native for name, native in strict.__array_namespace_info__().dtypes().items()
}


def _without(library: ModuleType, *names: str) -> ModuleType:
    """Return a library's namespace without some functions, which portarray then composes."""
    namespace = ModuleType(library.__name__)
    vars(namespace).update(
        {name: value for name, value in vars(library).items() if name not in names}
    )
    return namespace


class StrictBackend(Backend):
    """array-api-strict behind portarray; ``namespace/`` corrects some of its functions."""

    array_type = type(strict.zeros(0))  # the class is not public

    standard = _without(
        strict,
        # Wrong, as NumPy's are, at infinities, NaN, signed zeros, or without degrees of freedom.
        *("floor_divide", "sign", "expm1", "tanh", "std", "var"),
        "isin",  # it overlooks `invert`
        # They refuse complex numbers to bool, a maximum below the minimum, booleans, several axes.
        *("astype", "clip", "positive", "take"),
    )
    # These refuse integers, and matrices without elements.
    vars(standard)["linalg"] = _without(strict.linalg, "matrix_power", "matrix_rank")

    def version(self) -> str:
        return str(strict.__version__)

    def count(self, platform: str) -> int:
        return len(_DEVICES) if platform == "cpu" else 0

    def reason_unsupported(self, platform: str) -> str:
        return f"array-api-strict computes on the CPU only, not on {platform}"

    def native_device(self, platform: str, index: int) -> strict.Device:
        return _DEVICES[index]

    def describe(self, platform: str, index: int) -> Description:
        return machine.processor()

    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], Any]:
        return _DTYPES

    def device_of_native(self, device: object) -> tuple[str, int] | None:
        if isinstance(device, strict.Device) and device in _DEVICES:
            return "cpu", _DEVICES.index(device)
        return None

    def device_of_array(self, x: Any) -> tuple[str, int]:
        if x.device not in _DEVICES:
            raise ValueError(
                f"portarray does not list {x.device!r}; move the array with x.to_device(...) first"
            )
        return "cpu", _DEVICES.index(x.device)

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, MemoryError)

    def on_host(self, device: strict.Device) -> bool:
        return True

    def from_host(
        self, array: np.ndarray[Any, Any], device: Any, *, copy: bool | None, **options: Any
    ) -> Any:
        obstacle = self.why_copied_in(array, device)
        if obstacle and copy is False:
            raise ValueError(f"copy=False, but {obstacle}; pass copy=None")
        return strict.asarray(array, device=device, copy=True if obstacle else copy)

    def why_copied_in(self, array: np.ndarray[Any, Any], device: strict.Device) -> str:
        return "" if array.flags.writeable else "the array is read-only and the library writes"

    def to_host(self, x: Any, *, copy: bool | None) -> np.ndarray[Any, Any]:
        # The library lets NumPy read the arrays of its first device only; DLPack works on all.
        return np.from_dlpack(x, copy=copy)

    def move(self, x: Any, device: Any, *, copy: bool | None, **options: Any) -> Any:
        if x.device == device:
            return strict.asarray(x, copy=True) if copy else x
        if copy is False:
            raise ValueError(f"copy=False, but moving to {device!r} copies; pass copy=None")
        return x.to_device(device)

    def from_dlpack(self, x: Any, device: strict.Device, *, copy: bool | None) -> Any:
        return self.from_host(np.from_dlpack(x), device, copy=copy)

    def to_dlpack(self, x: Any, **options: Any) -> Any:
        return x.__dlpack__(**options)

    def dlpack_device(self, x: Any) -> tuple[int, int]:
        kind, index = x.__dlpack_device__()
        return int(kind), index


BACKEND = StrictBackend
