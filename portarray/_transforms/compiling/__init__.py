"""Compilation: the calls of a function become a graph, which is run as a program of few kernels."""
