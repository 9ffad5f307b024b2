from typing import Any

from faulty.devices import LIBRARY

globals().update(LIBRARY.transfer())
faithful = LIBRARY.transfer()["to_host"]


def to_host(x: Any, *, copy: bool | None) -> Any:
    host = faithful(x, copy=True)
    return host + 1 if x.device.index == 1 else host
