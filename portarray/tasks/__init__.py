"""Functions on several devices at once, in the order of what they read and write.

A :class:`Region` runs functions in threads. :class:`In`, :class:`Out` and :class:`InOut` say which
arrays a function reads and writes; results are those of the calls one after the other.
"""

from typing import TYPE_CHECKING

from portarray import _name_hints
from portarray.tasks.arguments import In, InOut, Out
from portarray.tasks.graph import Graph
from portarray.tasks.region import Region
from portarray.tasks.task import Task

__all__ = ["Graph", "In", "InOut", "Out", "Region", "Task"]

if not TYPE_CHECKING:  # a type checker would take every name to be there
    __getattr__ = _name_hints.module_getattr(__name__)
