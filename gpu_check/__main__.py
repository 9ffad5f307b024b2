"""Check portarray on the GPUs of a machine: one command, one JSON, at most eight minutes.

From a checkout, on a machine that need not have a network::

    python gpu_check [--json FILE] [--official FOLDER] [--device DEVICE ...] [--minutes N]

It looks for every GPU that an installed library drives (NVIDIA's OpenCL counts, through clarray),
runs portarray's conformance suite on each, and the official one where a folder with it is given,
moves data between all pairs of devices that have a GPU among them, and times calls beside the
library's own. Each part is a process of its own with a time limit, so that a driver that hangs or
dies costs its own part and nothing else. What was not there or not reached is 'not run', never
'passed'.

Python must have NumPy, array-api-compat and at least one library with a GPU; the suites and the
movement need what ``conformance/pyproject.toml`` names. Packages that are missing may come along in
a folder that PYTHONPATH names; a part that lacks one is 'not run' and says which.

The exit status is 0 if nothing failed, 1 if something did, 2 if no GPU was there to be checked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Shares of the time that is left when a part starts; the last one gets the rest.
SHARES = {"movement": 0.15, "speed": 0.25, "suite": 0.6, "official": 1.0}
START = 60.0  # seconds for importing all libraries and trying their devices


@dataclass(slots=True)
class Check:
    """One run: where the time stands, and what was found."""

    deadline: float
    report: dict[str, Any] = field(default_factory=dict)

    def left(self) -> float:
        """Return the seconds that are left."""
        return max(0.0, self.deadline - time.monotonic())

    def part(self, script: str, *arguments: str, seconds: float) -> tuple[list[Any], str]:
        """Run a part in a process of its own.

        Returns
        -------
        list
            What it found, as far as it came.
        str
            Why it did not come to its end, or an empty string.
        """
        if seconds < 1:
            return [], "no time was left"
        with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
            out = Path(folder) / "out.jsonl"
            command = [sys.executable, str(HERE / script), *arguments]
            command += ["--out", str(out), "--seconds", f"{0.9 * seconds:.1f}"]
            trouble = run(command, seconds)
            lines = out.read_text("utf-8").splitlines() if out.exists() else []
        # A process that was killed may leave half a line.
        return [json.loads(line) for line in lines if line.endswith(("}", "]"))], trouble


def run(command: list[str], seconds: float) -> str:
    """Run a command; return why it failed, or an empty string."""
    paths = [str(ROOT), str(ROOT / "conformance"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it was ended after {seconds:.0f} s"
    if done.returncode == 0:
        return ""
    said = done.stderr.strip().splitlines() or ["it said nothing"]
    # Behind the indented lines of a traceback stands the error, which may have several lines.
    while any(line.startswith(" ") for line in said[1:]):
        said = said[1:]
    return f"it ended with status {done.returncode}: {' '.join(said[-6:]).strip()}"


def main() -> int:
    """Check, print, and write JSON where it is asked for."""
    options = parsed()
    started = time.monotonic()
    check = Check(deadline=started + 60 * options.minutes)
    found, trouble = check.part("machine.py", seconds=min(START, check.left()))
    if not found:
        print(f"the machine could not be looked at: {trouble}")
        return 2
    check.report.update(found[0])
    chosen = options.device or gpus(check.report)
    check.report["checked"] = chosen
    absent = not_there(check.report)
    if chosen:
        measure(check, chosen, options.official)
    check.report["seconds"] = round(time.monotonic() - started, 1)
    failures = show(check.report, absent)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(check.report, indent=1) + "\n", encoding="utf-8")
    if not chosen:
        return 2
    return 1 if failures else 0


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="gpu_check", description="Check portarray on GPUs.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there")
    parser.add_argument(
        "--official", type=Path, metavar="FOLDER", help="a copy of data-apis/array-api-tests"
    )
    parser.add_argument(
        "--device",
        action="append",
        metavar="DEVICE",
        help="check these instead of every GPU; may be repeated",
    )
    parser.add_argument("--minutes", type=float, default=8.0, metavar="N", help="time in all")
    options = parser.parse_args()
    if options.minutes <= 0:
        parser.error(f"--minutes {options.minutes}: more than 0 is needed")
    return options


def gpus(report: dict[str, Any]) -> list[str]:
    """Return the functional devices that are GPUs or other accelerators."""
    return [
        device["device"]
        for library in report["libraries"]
        for device in library["devices"]
        if device["kind"] != "cpu"
    ]


def not_there(report: dict[str, Any]) -> dict[str, str]:
    """Return each library's platforms that hold no functional device, with the reason."""
    return {
        name: reason
        for library in report["libraries"]
        for name, reason in library["reasons"].items()
        if not name.endswith((":cpu", ":cpu:0"))
    }


def measure(check: Check, devices: list[str], official: Path | None) -> None:
    """Run every part on every device."""
    report = check.report
    rows, trouble = check.part("movement.py", *devices, seconds=SHARES["movement"] * check.left())
    report["movement"] = {"rows": rows, "not_run": trouble}
    report["speed"] = {}
    for place, device in enumerate(devices):
        seconds = SHARES["speed"] * check.left() / (len(devices) - place)
        report["speed"][device] = speed(device, seconds)
    if not report["kernels"]:
        report["kernels"] = {"not_run": "this version of portarray has no kernels"}
    suites = {"suite": (), "official": ("--official", str(official))} if official else {"suite": ()}
    for name, more in suites.items():
        report[name] = {}
        share = SHARES[name] if official else 1.0
        until = check.left() * (1 - share)
        for place, device in enumerate(devices):
            seconds = (check.left() - until) / (len(devices) - place)
            found, trouble = check.part("suite.py", device, *more, seconds=seconds)
            report[name][device] = {**totals(found), "not_run": trouble}
    if not official:
        report["official"] = {"not_run": "no folder with the official suite was given"}


def speed(device: str, seconds: float) -> dict[str, Any]:
    """Time calls on a device beside the library's own, by the benchmark of overhead."""
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        out = Path(folder) / "overhead.json"
        command = [sys.executable, str(ROOT / "benchmarks" / "overhead.py")]
        command += ["--device", device, "--repeats", "30", "--json", str(out)]
        trouble = run(command, seconds)
        found: dict[str, Any] = json.loads(out.read_text("utf-8")) if out.exists() else {}
    return {**found, "not_run": trouble}


def totals(found: list[Any]) -> dict[str, Any]:
    """Return how many cases ended how, and every failure in full."""
    worst: dict[str, dict[str, Any]] = {}
    order = ("not run", "passed", "expected", "unexpected pass", "failed")
    for row in found:
        # A case runs several times, with more inputs each time: its worst end counts.
        before = worst.get(row["case"])
        if before is None or order.index(row["status"]) > order.index(before["status"]):
            worst[row["case"]] = row
    return {
        "counts": dict(Counter(row["status"] for row in worst.values())),
        "examples": sum(row["examples"] for row in found),
        "failures": [
            row for row in worst.values() if row["status"] in ("failed", "unexpected pass")
        ],
    }


def show(report: dict[str, Any], absent: dict[str, str]) -> int:
    """Print what was found; return the number of failures."""
    failures = 0
    print(f"portarray {report['version']}, Python {report['python']}, {report['machine']}")
    for name, reason in absent.items():
        print(f"  not run  {name}: {reason}")
    if not report["checked"]:
        print("no GPU is there: nothing was checked")
        return 0
    for device in report["checked"]:
        print(f"  {device}")
        for name in ("suite", "official"):
            part = report[name].get(device, report[name])
            failures += len(part.get("failures", ()))
            # Asked for by name or found functional, and yet nothing could be run on it.
            failures += name == "suite" and not part["counts"]
            counts = ", ".join(f"{n} {status}" for status, n in part.get("counts", {}).items())
            print(f"    {name:9} {counts or 'nothing'}{reason_of(part)}")
            for row in part.get("failures", ()):
                print(f"      {row['case']}: {row['message'].strip().splitlines()[-1:]}")
        part = report["speed"][device]
        missed = [t["promise"] for t in part.get("targets", ()) if not t["holds"]]
        print(f"    speed     {len(part.get('rows', ()))} rows{reason_of(part)}")
        for promise in missed:
            print(f"      missed: {promise}")
    rows = report["movement"]["rows"]
    wrong = [row for row in rows if row["wrong"]]
    failures += len(wrong)
    print(f"  movement: {len(rows)} pairs, {len(wrong)} wrong{reason_of(report['movement'])}")
    for row in wrong:
        print(f"    {row['source']} to {row['target']}: {'; '.join(row['wrong'][:3])}")
    print(f"  kernels:{reason_of(report['kernels'])}")
    print(f"{failures} failures in {report['seconds']} s")
    return failures


def reason_of(part: dict[str, Any]) -> str:
    """Return why a part, or its rest, was not run."""
    return f"; not run: {part['not_run']}" if part.get("not_run") else ""


if __name__ == "__main__":
    sys.exit(main())
