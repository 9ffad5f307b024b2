"""The training of ``training.py`` in processes of torchrun or of MPI, one for each device.

``torchrun --nproc-per-node 2 -m examples.distributed.processes torch``, or
``mpiexec -n 2 python -m examples.distributed.processes mpi``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import portarray as pa
from examples.distributed.training import digits, gradient, initial, trained

STEPS = 20


class Group(NamedTuple):
    """A process's rank, how many there are, its device, and what adds all arrays in place."""

    rank: int
    size: int
    device: str
    add: Callable[[Any], Any]


def of_torch() -> Group:
    """Return the group that torchrun started; NCCL adds on GPUs, and Gloo on processors."""
    import torch
    from torch import distributed

    has_gpus = torch.cuda.is_available()
    distributed.init_process_group("nccl" if has_gpus else "gloo")
    device = f"torch:cuda:{os.environ['LOCAL_RANK']}" if has_gpus else "torch:cpu:0"
    rank, size = distributed.get_rank(), distributed.get_world_size()
    return Group(rank, size, device, distributed.all_reduce)


def of_mpi() -> Group:
    """Return the group that mpiexec started."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    # MPI that knows CUDA also takes the native arrays of CuPy.
    return Group(world.rank, world.size, "numpy:cpu:0", lambda x: world.Allreduce(MPI.IN_PLACE, x))


def main(kind: str) -> None:
    """Train on a part of the images; the first process prints the distance to all on one device."""
    group = {"torch": of_torch, "mpi": of_mpi}[kind]()
    with pa.device(group.device):
        images, labels = map(pa.asarray, digits("float32"))
        part = slice(group.rank, None, group.size)

        def total(weights: pa.Array) -> pa.Array:
            slope = gradient(images[part], labels[part], weights)[0]
            group.add(slope.native)  # in place, in the library's own memory
            return slope

        count = images.shape[0]
        start = pa.asarray(initial("float32"))
        final = trained(total, start, count, STEPS)
        if group.rank == 0:
            alone = trained(lambda w: gradient(images, labels, w)[0], start, count, STEPS)
            print(f"{group.size} processes, difference {float(pa.max(pa.abs(final - alone))):.1e}")
    if kind == "torch":
        from torch import distributed

        distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
