"""Build hook: compiles the calls of arrays into the wheel, where Cython is installed.

The wheel is pure Python without Cython, with ``PORTARRAY_PURE=1``, and where nothing compiles.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULES = ("portarray/_array/call.py",)
"""The modules to compile; ``.pxd`` files beside them describe what is C there."""


class CompiledCalls(BuildHookInterface[Any]):
    """Adds compiled modules to a wheel, beside their source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless the wheel is to be pure or is that of a checkout."""
        is_usual = sys.implementation.name == "cpython" and not sysconfig.get_config_var(
            "Py_GIL_DISABLED"
        )
        if version == "editable" or os.environ.get("PORTARRAY_PURE") == "1" or not is_usual:
            return
        try:
            from Cython.Build import cythonize
            from setuptools import Distribution, Extension
            from setuptools.command.build_ext import build_ext
            from setuptools.errors import BaseError, CCompilerError
        except ImportError:
            return
        self.folder = tempfile.TemporaryDirectory()
        gnu = ["-O3", "-g0", "-fno-plt", "-fvisibility=hidden"]
        options = ["/O2"] if os.name == "nt" else gnu
        extensions = [
            Extension(source[:-3].replace("/", "."), [source], extra_compile_args=options)
            for source in MODULES
        ]
        directives = {"language_level": 3, "infer_types": True, "nonecheck": True}
        modules = cythonize(
            extensions, build_dir=self.folder.name, compiler_directives=directives, quiet=True
        )
        command = build_ext(Distribution({"ext_modules": modules}))
        command.build_lib = command.build_temp = self.folder.name
        command.ensure_finalized()
        try:
            command.run()
        except (BaseError, CCompilerError) as error:
            self.app.display_warning(f"a pure wheel, as nothing compiles here: {error}")
            return
        for output in map(Path, command.get_outputs()):
            path = output.relative_to(self.folder.name)
            build_data["force_include"][str(output)] = path.as_posix()
        build_data |= {"pure_python": False, "infer_tag": True}
