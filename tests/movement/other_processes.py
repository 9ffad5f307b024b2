"""Functions that other processes run on pickles, as a module or as a program."""

from __future__ import annotations

import pickle
import sys
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

import portarray as pa


def doubled(connection: Connection) -> None:
    """Reply to each array with its double on the same device, until None is received."""
    while (x := connection.recv()) is not None:
        connection.send((str(x.device), x + x))


def without(file: str) -> None:
    """Load pickles without a driver for clarray and without MLX."""
    sys.modules["mlx"] = None  # type: ignore[assignment]
    for pickled in pickle.loads(Path(file).read_bytes()):
        text = pickle.loads(pickled)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            first, second = pickle.loads(text), pickle.loads(text)
        assert str(first.device) == str(second.device) == "numpy:cpu:0"
        assert first.tolist() == second.tolist() == [1.0, 2.0]
        assert [warning.filename for warning in said] == [__file__]  # once, at the line above
        sys.stdout.write(f"{said[0].category.__name__}: {said[0].message}\n")
        with pa.config(unpickle_device=None):
            try:
                pickle.loads(text)
            except pa.DeviceNotFunctionalError as error:
                sys.stdout.write(f"{error}\n")


if __name__ == "__main__":
    without(sys.argv[1])
