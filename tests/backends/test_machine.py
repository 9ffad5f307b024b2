"""The processor's name and the host's memory."""

from portarray.backends import machine


def test_processor() -> None:
    assert machine.processor().kind == "cpu"
    assert machine.processor().name


def test_memory_is_part_of_what_there_is() -> None:
    figures = machine.memory()
    if figures.total is None or figures.free is None:  # a system that does not tell
        assert figures.total is figures.free is None
    else:
        assert 0 < figures.free <= figures.total
