"""Measuring kernels, operations, a model and moves on the devices of this machine."""
