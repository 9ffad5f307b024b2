"""OpenCL devices, memory and programs, for every library that computes on OpenCL.

``loader``, ``folders`` and ``processor`` import no OpenCL binding. No module imports an array
library.
"""
