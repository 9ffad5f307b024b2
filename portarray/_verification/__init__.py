"""Verification of kernels: a float64 reference, error bounds, and drawn calls to compare with."""
