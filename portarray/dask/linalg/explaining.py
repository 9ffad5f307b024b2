"""Plans of operations on tiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from portarray.dask.linalg.graph import Matrices
from portarray.dask.linalg.preparing import prepare
from portarray.dask.linalg.programs import Step
from portarray.dask.linalg.running import is_local

if TYPE_CHECKING:
    from portarray.dask.block_placement import Devices

__all__ = ["Plan", "explain"]

_ANY = "worker's default"


class Plan(NamedTuple):
    """The plan of an operation, as :func:`explain` returns it; ``str`` formats it as text.

    Parameters
    ----------
    operation : str
        Its name.
    chunks : tuple of tuple of int
        Rows and columns of the tiles of the first matrix.
    engine : {"region", "dask"}
        What runs it by default: a region of this process, or a graph of Dask.
    tasks : mapping
        How many tasks there are of each kind.
    devices : mapping
        Tasks of each device, and their floating-point operations.
    flops : float
        Floating-point operations of all tasks.
    bytes_moved : int
        Bytes of tiles that are copied from device to device; between workers there may be more.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.eye(40, chunks=10, devices="numpy")
    >>> plan = pd.linalg.explain("cholesky", x)
    >>> plan.tasks
    {'potrf': 4, 'rtrsm': 6, 'syrk': 6, 'gemm': 4}
    >>> plan.engine, plan.bytes_moved
    ('region', 0)
    """

    operation: str
    chunks: tuple[tuple[int, ...], ...]
    engine: Literal["region", "dask"]
    tasks: Mapping[str, int]
    devices: Mapping[str, tuple[int, float]]
    flops: float
    bytes_moved: int

    def __str__(self) -> str:
        total = sum(self.tasks.values())
        lines = [
            self._title(),
            f"  {total} tasks: {self._kinds()}",
            f"  {self.flops:.3g} floating-point operations, {self.bytes_moved} bytes moved",
        ]
        lines += [
            f"  {device}: {count} tasks, {share} of the operations"
            for device, count, share in self._shares()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from portarray import _html  # only notebooks need it

        total = ("all", f"{sum(self.tasks.values())}: {self._kinds()}", f"{self.flops:.3g}")
        rows = [*self._shares(), total, ("bytes moved", "", f"{self.bytes_moved:,}")]
        head = ("device", "tasks", "floating-point operations")
        return _html.table(rows, caption=self._title(), head=head)

    def _title(self) -> str:
        rows, columns = self.chunks
        return (
            f"{self.operation} of {len(rows)} x {len(columns)} tiles of {max(rows)} x "
            f"{max(columns)} and less, {'by a region' if self.engine == 'region' else 'on Dask'}"
        )

    def _kinds(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.tasks.items())

    def _shares(self) -> list[tuple[str, int, str]]:
        """Return each device with its tasks and its share of the operations."""
        return [
            (device, count, f"{flops / self.flops if self.flops else 0.0:.0%}")
            for device, (count, flops) in self.devices.items()
        ]


def explain(
    operation: Literal["matmul", "cholesky", "lu", "solve", "solve_triangular"],
    a: Any,
    b: Any = None,
    /,
    *,
    tiles: int | None = None,
    devices: Devices = None,
    **options: Any,
) -> Plan:
    """Return the plan of an operation: tiles, tasks, devices, and bytes moved.

    Nothing is computed. Arguments are checked as the operation itself checks them.

    Parameters
    ----------
    operation : {"matmul", "cholesky", "lu", "solve", "solve_triangular"}
        A function of this module.
    a, b : dask.array.Array or Array
        What it takes.
    tiles, devices
        As for :func:`matmul`.
    **options : object
        ``assume_a`` of :func:`solve` and ``lower`` of :func:`solve_triangular`.

    Returns
    -------
    Plan
        Print it, or read its attributes.

    Raises
    ------
    ValueError, TypeError
        If the operation is unknown, or it raises for these arguments.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda") as (gpu,):
    ...     x = pd.ones((40, 40), chunks=20, devices=["numpy", gpu])
    ...     print(pd.linalg.explain("matmul", x, x))
    matmul of 2 x 2 tiles of 20 x 20 and less, by a region
      4 tasks: 4 product
      1.28e+05 floating-point operations, 12800 bytes moved
      numpy:cpu:0: 2 tasks, 50% of the operations
      virtual:cuda:0: 2 tasks, 50% of the operations
    """
    name: str = operation
    if operation == "solve" and options.pop("assume_a", "gen") == "pos":
        name = "solve_positive"
    elif operation == "solve_triangular":
        name = "solve_lower" if options.pop("lower", False) else "solve_upper"
    elif operation not in ("matmul", "cholesky", "lu", "solve"):
        raise ValueError(
            f"explain: operation must be 'matmul', 'cholesky', 'lu', 'solve' or "
            f"'solve_triangular', "
            f"got {operation!r}"
        )
    if options:
        raise TypeError(
            f"explain: {operation} has no option {', '.join(options)} that changes its plan"
        )
    program = prepare(name, a, b, tiles=tiles, devices=devices)
    matrices = program.matrices
    kinds: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    work: Counter[str] = Counter()
    for step in program.steps:
        device = matrices.devices[step.writes[0]] or _ANY
        kinds[step.function.__name__] += 1
        counts[device] += 1
        work[device] += _flops(step, matrices.shapes)  # type: ignore[assignment]
    x = matrices.collections[0]
    return Plan(
        operation,
        x.chunks,
        "region" if is_local(x) else "dask",
        dict(kinds),
        {device: (counts[device], float(work[device])) for device in counts},
        float(sum(work.values())),
        sum(_moved(program.steps, matrices)),
    )


def _moved(steps: tuple[Step, ...], matrices: Matrices) -> Iterator[int]:
    """Yield the bytes of copies: one of each version of a tile for each device that reads it."""
    version: Counter[Any] = Counter()
    copied = set()
    for step in steps:
        there = matrices.devices[step.writes[0]]
        for tile in (*step.writes, *step.reads):
            here = matrices.devices[tile]
            key = tile, version[tile], there
            if None in (here, there) or here == there or key in copied:
                continue
            copied.add(key)
            item = 4 if tile[0] == "p" else matrices.dtype.itemsize
            size = item
            for length in matrices.shapes[tile]:
                size *= length
            yield 2 * size if tile in step.writes else size
        version.update(step.writes)


def _flops(step: Step, shapes: Mapping[Any, tuple[int, ...]]) -> float:
    """Return the floating-point operations of a step, to their largest term."""
    rows, *lengths = shapes[step.writes[-1]]
    columns = lengths[0] if lengths else 1
    reads = [shapes[tile] for tile in step.reads]
    match step.function.__name__:
        case "potrf":
            return columns**3 / 3
        case "panel":
            return float(sum(shapes[tile][0] for tile in step.writes[1:]) * columns**2)
        case "trsm" | "rtrsm":
            return float(rows * columns * reads[0][0])
        case "syrk":
            return float(rows * columns * reads[0][1])
        case "gemm":
            inner = reads[0][0] if step.options.get("adjoint_a") else reads[0][1]
            return 2.0 * rows * columns * inner
        case "product":
            half = reads[: len(reads) // 2]
            return 2.0 * rows * columns * sum(inner for _, inner in half)
    return 0.0
