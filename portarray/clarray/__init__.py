"""clarray: an array library for OpenCL after the Python array API standard."""
