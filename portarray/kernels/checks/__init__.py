"""Argument checks of the kernels: shapes, dtypes and ranges of options, by subject.

Each kernel's function takes its arrays by position and its options in a dict, in which it puts
them into the form that every version expects. It does not read the values of arrays, as that would
wait for the device. Valid calls pass with few look-ups.
"""
