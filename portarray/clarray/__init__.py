"""clarray: an array library for OpenCL after the Python array API standard.

>>> from portarray import clarray as cl
>>> x = cl.asarray([1.0, 2.0, 3.0])
>>> cl.sum(x * x)
Array(14., dtype=float64)

Arrays are strided views of pooled device memory. Operations are OpenCL programs, built once and
cached on disk. It imports nothing of portarray but helpers: ``_opencl``, ``_dlpack``,
``_host_memory``.
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

try:
    import pyopencl as _pyopencl  # noqa: F401 - said once, before any module needs it
except ImportError as error:
    raise ImportError(
        f"clarray drives OpenCL with pyopencl, which cannot be imported ({error}). Install it with "
        f"pip install 'portarray[opencl]'; a pyopencl built from source also needs libOpenCL, the "
        f"loader, from the system's packages (ocl-icd-libopencl1 on Debian)",
        name=error.name,
        path=error.path,
    ) from error

from portarray.clarray.runtime import forking as _forking

_forking.watch()

if TYPE_CHECKING:
    from portarray.clarray.namespace import *  # noqa: F403
    from portarray.clarray.namespace import __all__ as __all__
    from portarray.clarray.namespace import __array_api_version__ as __array_api_version__
    from portarray.clarray.namespace import __array_namespace_info__ as __array_namespace_info__
else:

    def __getattr__(name):
        """Import all names when one is asked for: kernels in other libraries' memory need none."""
        module = f"{__name__}.{name}"
        if _find_spec(module) is not None:
            return _import_module(module)
        namespace = _import_module(f"{__name__}.namespace")
        if name not in namespace.NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        globals().update({one: getattr(namespace, one) for one in namespace.NAMES})
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
