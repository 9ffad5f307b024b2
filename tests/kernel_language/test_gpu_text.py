"""Programs for GPUs compile where a compiler is to be had; none of these tests needs a GPU.

CUDA's are compiled to machine code by NVRTC from its wheel. HIP's and Metal's are checked by clang,
with the declarations of ``gpu_headers`` in place of their libraries.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cases.case import Case, all_cases

import portarray as pa
from portarray.errors import KernelSyntaxError

HEADERS = Path(__file__).parent / "gpu_headers"
DOUBLES = {np.dtype(np.float64), np.dtype(np.complex128)}
CASES = all_cases()
SUBJECTS = sorted({case.name.partition("-")[0] for case in CASES})


def text_of(case: Case, dialect: str) -> str:
    """Return a case's program: of arrays on a device that has their dtypes, whose types count."""
    device = "numpy"
    if any(dtype.name == "bfloat16" for dtype in case.dtypes()):
        device = "torch" if find_spec("torch") else pytest.skip("no device has bfloat16")

    arguments = case.placed(lambda array: pa.asarray(array, device=device))
    kernel = pa.kernel(static=case.static)(case.kernel)
    return str(kernel.source(dialect, *arguments, ndrange=case.ndrange))


def texts_of(cases: list[Case], dialect: str) -> dict[str, str]:
    """Return the programs by name; what the front end refuses is for test_cases.py to report."""
    result = {}
    for case in cases:
        with suppress(KernelSyntaxError):
            result[case.name] = text_of(case, dialect)
    return result


def on_metal(case: Case) -> bool:
    """Return whether Metal has what a kernel needs: no double precision, no 64-bit atomics."""
    return DOUBLES.isdisjoint(case.dtypes()) and not case.atomics64


@cache
def nvrtc() -> Callable[[str], str]:
    """Return what compiles CUDA to machine code and returns the compiler's log."""
    spec = find_spec("nvidia.cuda_nvrtc") if find_spec("nvidia") else None
    result = [
        path
        for folder in (spec and spec.submodule_search_locations) or ()
        for path in [
            *Path(folder).glob("lib/libnvrtc.so.*"),
            *Path(folder).glob("bin/nvrtc64*.dll"),
        ]
        if "alt" not in path.name
    ]
    if not result:
        pytest.skip("needs nvidia-cuda-nvrtc-cu12")
    library = ctypes.CDLL(str(result[0]))
    options = (ctypes.c_char_p * 3)(
        # Functions of the prelude that a program does not use are no reason for a warning.
        b"--gpu-architecture=sm_75", b"--fmad=false", b"--diag-suppress=177"
    )  # fmt: skip

    def compiled(text: str) -> str:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        source = text.encode()
        assert not library.nvrtcCreateProgram(
            ctypes.byref(program), source, b"kernel.cu", 0, None, None
        )
        try:
            failed = library.nvrtcCompileProgram(program, len(options), options)
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))
        result = log.value.decode(errors="replace")
        return result or ("failed without a word" if failed else "")

    return compiled


@cache
def clang() -> str:
    """Return the command of clang."""
    for name in ("clang", *(f"clang-{n}" for n in range(25, 13, -1))):
        if result := shutil.which(name):
            return result
    pytest.skip("needs clang")


def checked_by_clang(text: str, *options: str) -> str:
    """Return what clang says against a program."""
    command = [clang(), "-fsyntax-only", "-Wno-unknown-attributes", "-I", str(HEADERS), *options]
    done = subprocess.run(
        [*command, "-"], input=text, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stderr or ("" if done.returncode == 0 else "failed without a word")


def metal(text: str) -> str:
    # A variable in a group's memory is static to clang, which knows no such memory.
    shared = "#define PA_SHARED threadgroup"
    assert shared in text
    text = text.replace(shared, "#define PA_SHARED static threadgroup")
    return checked_by_clang(text, "-x", "c++", "-std=c++14", "-Wno-unknown-pragmas")


def hip(text: str) -> str:
    return checked_by_clang(
        text,
        *("-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib"),
        *("-include", "hip.h"),
    )


@pytest.mark.parametrize("subject", SUBJECTS)
def test_cuda_compiles(subject: str) -> None:
    compiled = nvrtc()
    programs = texts_of([case for case in CASES if case.name.startswith(f"{subject}-")], "cuda")
    logs = {name: compiled(text) for name, text in programs.items()}
    assert not any(logs.values()), "\n".join(f"{name}: {log}" for name, log in logs.items() if log)


@pytest.mark.parametrize(
    ("dialect", "check"), [("hip", hip), ("metal", metal)], ids=["hip", "metal"]
)
def test_clang_accepts(dialect: str, check: Callable[[str], str]) -> None:
    """All programs at once: the prelude once, then each kernel in a namespace of its own."""
    clang()
    cases = [case for case in CASES if dialect == "hip" or on_metal(case)]
    programs = list(texts_of(cases, dialect).values())
    assert len(programs) > 60
    for double in (True, False):
        matching = [text for text in programs if text.startswith("#define PA_DOUBLE") == double]
        if matching:
            log = check(together(matching))
            assert not log, log[-4000:]


def together(programs: list[str]) -> str:
    """Return programs with the same prelude as one."""
    prelude = _prelude(programs[0])
    heads = {line for text in programs for line in text[: text.index(prelude)].splitlines()}
    parts = [*sorted(heads), prelude]
    for n, text in enumerate(programs):
        # C linkage is for finding a kernel by name.
        body = text[text.index(prelude) + len(prelude) :].replace(
            'extern "C" __global__', "__global__"
        )
        parts.append(f"namespace case_{n} {{\n{body}\n}}")
    return "\n".join(parts)


def _prelude(text: str) -> str:
    """Return what a program has after the definitions that it begins with, up to its own text."""
    header = re.match(r"(#define \w+ 1\n)*", text)
    assert header is not None
    end = "#define pa_store_bf16(p, x) (*(p) = pa_bf16_bits(x))\n"
    return text[header.end() : text.index(end) + len(end)]
