"""User kernels on Metal, with recorded calls of PyTorch instead of a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portarray._launchers.launcher import Program
from portarray.errors import KernelBuildError

torch = pytest.importorskip("torch")


class Library:
    """A compiled library with a kernel of every name."""

    def __init__(self, text: str) -> None:
        if "wrong" in text:
            raise SyntaxError("program_source:1: error: unknown type name 'wrong'")
        self.text = text
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **named: self.calls.append((name, args, named))


def test_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    from portarray.backends.torch.gpu_launching import gpu_launcher

    libraries: list[Library] = []

    def compile_shader(text: str) -> Library:
        libraries.append(Library(text))
        return libraries[-1]

    monkeypatch.setattr(torch.mps, "compile_shader", compile_shader)
    launcher = gpu_launcher(torch.device("mps"))
    assert not isinstance(launcher, str)
    assert (launcher.dialect, launcher.float64, launcher.atomics64) == ("metal", False, False)
    kinds = (np.int32, np.bool_, np.uint64, np.uint64, np.float32)
    program = Program(
        "k", "metal", "right", (np.dtype("f4"),), (True,), tuple(map(np.dtype, kinds))
    )
    launch = launcher.build(program)
    x = torch.zeros(4)
    launch([x], [3, True, 2**64 - 1, 7, 0.5], (6, 64), (2, 32))
    launch([x], [-3, False, 0, 7, 0.5], (64,), (32,))
    # The neighbouring axis first; integers as Python's, of at most 64 bits with a sign.
    assert libraries[0].calls == [
        ("k", (x, 3, 1, -1, 7, 0.5), {"threads": [64, 6, 1], "group_size": [32, 2, 1]}),
        ("k", (x, -3, 0, 0, 7, 0.5), {"threads": [64, 1, 1], "group_size": [32, 1, 1]}),
    ]
    assert [type(value) for value in libraries[0].calls[0][1][1:]] == [int, int, int, int, float]
    wrong = Program("k", "metal", "wrong", (), (), ())
    with pytest.raises(KernelBuildError, match="unknown type name"):
        launcher.build(wrong)
