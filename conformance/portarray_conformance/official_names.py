"""Which function of the standard a test of the official suite is about."""

from __future__ import annotations

import re

from portarray_conformance.names import ALL_NAMES, CHAPTERS
from portarray_conformance.target import STANDARD_DTYPES

__all__ = ["chapter_of", "function_of"]

_CHAPTER = {name: chapter for chapter, names in CHAPTERS.items() for name in names}
_KNOWN = frozenset(ALL_NAMES)

# Tests that are not named after what they test.
_SPECIAL = {
    "test_dunder_dlpack": "array.__dlpack__",
    "test_dlpack_device": "array.__dlpack_device__",
    "test_array_namespace_info_dtypes": "info.dtypes",
    "TestResultType": "result_type",
    "TestBroadcastShapes": "broadcast_shapes",
}


def function_of(test: str) -> str:
    """Return the function that a test is about, by its id.

    Parameters
    ----------
    test : str
        For example ``"array_api_tests/test_special_cases.py::test_unary[sin(x_i is NaN) -> NaN]"``.

    Returns
    -------
    str
        The name in the standard, for example ``"sin"``, ``"linalg.svd"``, ``"array.__add__"``; the
        test's own name where it is about no single function.
    """
    path, *parts = re.sub(r"\[.*", "", test, flags=re.DOTALL).split("::")
    parameter = re.search(r"\[(.*)\]$", test, flags=re.DOTALL)
    for part in parts:
        if part in _SPECIAL:
            return _SPECIAL[part]
    extension = {"test_linalg.py": "linalg.", "test_fft.py": "fft."}.get(path.split("/")[-1], "")
    if parameter is not None:
        group, _, last = parameter[1].rpartition("-")
        if group in ("linalg", "fft"):
            return f"{group}.{last}"
        # "sin(x_i is NaN) -> NaN", "__add__(x, s)", "elementwise-sin", "linalg.svd", "fftshift"
        for text in (parameter[1], last):
            word = re.match(r"[\w.]*", text)
            found = _resolve(word[0], extension) if word is not None else None
            # A dtype is what a test was given (test_finfo[float32]), not what it is about.
            if found is not None and found not in STANDARD_DTYPES:
                return found
    name = parts[-1].removeprefix("test_")
    words = name.split("_")
    for count in range(len(words), 0, -1):  # getitem_masking: getitem
        found = _resolve("_".join(words[:count]), extension)
        if found is not None:
            return found
    return parts[-1]


def _resolve(name: str, extension: str) -> str | None:
    extensions = (f"linalg.{name.removeprefix('linalg_')}",) if name.startswith("linalg_") else ()
    candidates = (
        *extensions,
        name,
        f"{extension}{name}",
        f"array.{name}",
        f"array.__{name}__",
        f"info.{name}",
    )
    return next((candidate for candidate in candidates if candidate in _KNOWN), None)


def chapter_of(function: str) -> str:
    """Return the chapter of a function of the standard, or ``"other"``."""
    return _CHAPTER.get(function, "other")
