"""Sorting NumPy arrays."""

from array_api_compat.numpy import argsort as argsort
from array_api_compat.numpy import sort as sort
