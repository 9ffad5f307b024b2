"""The first thing to run: the devices of this machine, a real program on each, and the proof.

Prints ``portarray devices``, runs ``digits.py`` on every functional device and then the quick
conformance suite. The exit status is 1 if anything of that fails.

Run it with ``python examples/tour.py``; it needs ``pip install ".[cli,examples]"`` and
``portarray-conformance``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent

# -P: the installed portarray is meant, not a folder of that name where the tour is started.
STOPS: tuple[tuple[str, list[str]], ...] = (
    ("The devices of this machine", ["-P", "-m", "portarray", "devices"]),
    ("One program on each of them", [str(HERE / "digits.py")]),
    (
        "Every function of the standard on each of them, quickly",
        ["-P", "-m", "portarray", "conformance", "run", "--quick"],
    ),
)


def main() -> int:
    """Run every stop of the tour, also after one that failed; return the exit status."""
    failed = []
    began = time.monotonic()
    for index, (title, command) in enumerate(STOPS, start=1):
        print(f"\n=== {index}. {title}\n", flush=True)
        if subprocess.run([sys.executable, *command], check=False).returncode:
            failed.append(title)
    seconds = time.monotonic() - began
    verdict = f"failed: {'; '.join(failed)}" if failed else "all of it passed"
    print(f"\n=== {verdict} ({seconds:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
