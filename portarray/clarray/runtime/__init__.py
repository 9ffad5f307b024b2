"""What runs kernels: devices and their queues, memory, programs."""

try:
    import pyopencl as _pyopencl  # noqa: F401 - said here once, before any module needs it
except ImportError as error:
    raise ImportError(
        f"clarray drives OpenCL with pyopencl, which cannot be imported ({error}). Install it with "
        f"pip install 'portarray[opencl]'; a pyopencl built from source also needs libOpenCL, the "
        f"loader, from the system's packages (ocl-icd-libopencl1 on Debian)",
        name=error.name,
        path=error.path,
    ) from error
