"""Which drivers OpenCL's loader is told of: for clarray and for every library on OpenCL.

No array library and no OpenCL binding is imported here, so that a library that needs the drivers
brings no other library with it.
"""
