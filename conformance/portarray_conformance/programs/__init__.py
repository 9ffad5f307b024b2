"""The suite of programs: several calls one after another, compared with a reference."""

from portarray_conformance.programs.compiled import run_compiled
from portarray_conformance.programs.show import show_program
from portarray_conformance.programs.suite import PROGRAMS, run_programs
from portarray_conformance.programs.threads import run_threads

__all__ = ["PROGRAMS", "run_compiled", "run_programs", "run_threads", "show_program"]
