"""Functions of published libraries, written anew with standard names.

``docs/port_*.md`` show what changed, how they are tested and how long they take.
"""
