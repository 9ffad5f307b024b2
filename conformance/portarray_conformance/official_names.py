"""Find the function of the standard that a test of the official suite is about."""

from __future__ import annotations

import re

from portarray_conformance.names import CATEGORY_OF
from portarray_conformance.target import STANDARD_DTYPES

__all__ = ["category_of", "function_of"]


# Tests that are not named after what they test.
_SPECIAL = {
    "test_dunder_dlpack": "array.__dlpack__",
    "test_dlpack_device": "array.__dlpack_device__",
    "test_array_namespace_info_dtypes": "info.dtypes",
    "TestResultType": "result_type",
    "TestBroadcastShapes": "broadcast_shapes",
}


def function_of(test: str) -> str:
    """Return the standard's name of the function that a test is about; its own name if none.

    ``"array_api_tests/test_special_cases.py::test_unary[sin(x_i is NaN) -> NaN]"`` is about
    ``"sin"``.
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
            function = _resolve(word[0], extension) if word is not None else None
            # A dtype is a parameter of the test (test_finfo[float32]), not its subject.
            if function is not None and function not in STANDARD_DTYPES:
                return function
    name = parts[-1].removeprefix("test_")
    words_of_test = name.split("_")
    for count in range(len(words_of_test), 0, -1):  # getitem_masking: getitem
        function = _resolve("_".join(words_of_test[:count]), extension)
        if function is not None:
            return function
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
    return next((candidate for candidate in candidates if candidate in CATEGORY_OF), None)


def category_of(function: str) -> str:
    """Return the category of a function of the standard, or ``"other"``."""
    return CATEGORY_OF.get(function, "other")
