"""What the programs of this folder share: their options, and where the picture goes."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import portarray as pa
from portarray.errors import PortarrayError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["main", "to_numpy"]


def to_numpy(x: pa.Array) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the values of an array of any device."""
    return np.asarray(x.to_device("numpy"))


def main(name: str, compute: Callable[[pa.Device], Any], draw: Callable[[Axes, Any], None]) -> None:
    """Compute on the device that is asked for and show the picture.

    Parameters
    ----------
    name : str
        The program's name.
    compute : callable
        Returns what is drawn, as NumPy arrays.
    draw : callable
        Draws it on the axes.
    """
    parser = argparse.ArgumentParser(prog=f"python -m examples.kernels.{name}")
    parser.add_argument("--device", default="auto", help="where it is computed: clarray, torch")
    parser.add_argument("--output", type=Path, help="write the picture, instead of showing it")
    parser.add_argument("--small", action="store_true", help="write few pixels in few colours")
    options = parser.parse_args()
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        sys.exit('matplotlib is missing.\nInstall it with: pip install ".[examples]"')
    try:
        with pa.device(options.device) as device:
            began = time.perf_counter()
            result = compute(device)
    except PortarrayError as error:
        sys.exit(f"{name}: {error}")
    print(f"{name} on {device}: {time.perf_counter() - began:.2f} s, compilation included")
    figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
    draw(axes, result)
    if options.output is None and plt.get_backend().lower() == "agg":
        options.output = Path(f"{name}.png")  # there is no window to show it in
    if options.output is None:
        plt.show()
    else:
        figure.savefig(options.output, dpi=60 if options.small else 100)
        if options.small:
            _use_few_colours(options.output)
        print(f"the picture: {options.output}")


def _use_few_colours(path: Path) -> None:
    """Write a picture anew with 96 colours, in a fourth of the bytes."""
    from PIL import Image  # which matplotlib needs too

    with Image.open(path) as image:
        few = image.convert("RGB").quantize(96)
    few.save(path, optimize=True)
