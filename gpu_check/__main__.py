"""Check portarray on the GPUs of a machine: one command, one JSON, at most eight minutes.

From a checkout, on a machine that need not have a network::

    python gpu_check [--json FILE] [--official FOLDER] [--device DEVICE ...] [--part PART ...]
        [--minutes N]

It finds every GPU that an installed library drives (OpenCL GPUs through clarray). On each it runs
the conformance suite, random programs and, where a folder with it is given, the official suite. It
moves data between pairs of devices, measures the overhead of calls, verifies the kernels and
compares them and a language model with eager PyTorch, the card's bandwidth and the CPU. Each part
runs in a separate process with a time limit, so a driver that hangs or crashes affects only that
part. What is missing or not reached is 'not run', never 'passed'.

Python needs portarray's dependencies and at least one library with a GPU. The suites and the
movement need the dependencies in ``conformance/pyproject.toml``. Missing packages may be in a
folder on PYTHONPATH; a part that lacks one is 'not run' and names it.

The exit status is 0 if nothing failed, 1 if something failed, and 2 if there is no GPU.
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

import neural

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# The parts, with their shares of the remaining time.
SHARES = {
    "movement": 25,
    "speed": 15,
    "verify": 10,
    "kernels": 25,
    "model": 15,
    "user kernels": 15,
    "random": 5,
    "gradients": 5,
    "compile": 10,
    "transforms": 5,
    "numpy": 5,
    "others": 5,
    "tasks": 10,
    "suite": 50,
    "programs": 20,
    "official": 40,
}
NOT_SELECTED = "not selected"
DIRECTIONS = ("to_card", "to_host")
START = 60.0  # seconds to import all libraries and probe their devices


@dataclass(slots=True)
class Check:
    """One run: the time limit and the report."""

    deadline: float
    parts: list[str]
    report: dict[str, Any] = field(default_factory=dict)

    def remaining(self) -> float:
        """Return the remaining seconds."""
        return max(0.0, self.deadline - time.monotonic())

    def share(self, name: str) -> float:
        """Return the seconds that the next part may take."""
        next_parts = self.parts[self.parts.index(name) :]
        return self.remaining() * SHARES[name] / sum(SHARES[part] for part in next_parts)

    def part(self, script: str, *arguments: str, seconds: float) -> tuple[list[Any], str]:
        """Run a part in a separate process; return its results and why it failed, if it did."""
        if seconds < 1:
            return [], "no time remained"
        with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
            out = Path(folder) / "out.jsonl"
            command = [sys.executable, str(HERE / script), *arguments]
            command += ["--out", str(out), "--seconds", f"{0.9 * seconds:.1f}"]
            trouble = run(command, seconds)
            lines = out.read_text("utf-8").splitlines() if out.exists() else []
        # A killed process may leave an incomplete line.
        return [json.loads(line) for line in lines if line.endswith(("}", "]"))], trouble


def run(command: list[str], seconds: float) -> str:
    """Run a command; return why it failed, or an empty string."""
    paths = [str(ROOT), str(ROOT / "conformance"), os.environ.get("PYTHONPATH", "")]
    environment = {
        # By default JAX reserves three quarters of a card's memory.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
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
        return f"stopped after {seconds:.0f} s"
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines() or ["no output"]
    # The error, which may have several lines, follows the indented lines of a traceback.
    while any(line.startswith(" ") for line in lines[1:]):
        lines = lines[1:]
    return f"exit status {done.returncode}: {' '.join(lines[-6:]).strip()}"


def main() -> int:
    """Check, print and write JSON."""
    options = read_options()
    started = time.monotonic()
    names = [name for name in SHARES if name in (options.part or SHARES)]
    if options.official is None:
        names = [name for name in names if name != "official"]
    check = Check(started + 60 * options.minutes, names)
    report, trouble = check.part("machine.py", seconds=min(START, check.remaining()))
    if not report:
        print(f"the machine could not be inspected: {trouble}")
        return 2
    check.report.update(report[0])
    chosen = options.device or gpus(check.report)
    check.report["checked"] = chosen
    missing = not_there(check.report)
    if chosen:
        measure(check, chosen, options.official)
    check.report["seconds"] = round(time.monotonic() - started, 1)
    failures = show(check.report, missing)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(check.report, indent=1) + "\n", encoding="utf-8")
    if not chosen:
        return 2
    return 1 if failures else 0


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="gpu_check", description="Check portarray on GPUs.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to FILE")
    parser.add_argument(
        "--official", type=Path, metavar="FOLDER", help="a copy of data-apis/array-api-tests"
    )
    parser.add_argument(
        "--device",
        action="append",
        metavar="DEVICE",
        help="check these instead of every GPU; may be repeated",
    )
    parser.add_argument(
        "--part", action="append", choices=SHARES, help="only this part; may be repeated"
    )
    parser.add_argument("--minutes", type=float, default=8.0, metavar="N", help="time in all")
    options = parser.parse_args()
    if options.minutes <= 0:
        parser.error(f"--minutes: must be positive, got {options.minutes}")
    return options


def gpus(report: dict[str, Any]) -> list[str]:
    """Return the functional devices that are not CPUs."""
    return [
        device["device"]
        for library in report["libraries"]
        for device in library["devices"]
        if device["kind"] != "cpu"
    ]


def not_there(report: dict[str, Any]) -> dict[str, str]:
    """Return the platforms without a functional device, with the reason."""
    return {
        name: reason
        for library in report["libraries"]
        for name, reason in library["reasons"].items()
        if not name.endswith((":cpu", ":cpu:0"))
    }


def measure(check: Check, devices: list[str], official: Path | None) -> None:
    """Run every selected part on every device."""
    report, parts = check.report, check.parts
    left_out = {"not_run": NOT_SELECTED}
    report["movement"] = {"bus": [], "rows": [], "devices": [], **left_out}
    if "movement" in parts:
        results, trouble = check.part("movement.py", *devices, seconds=check.share("movement"))
        report["movement"] = {
            "bus": [row for row in results if "bus" in row],
            "rows": [row for row in results if "source" in row],
            "devices": [row for row in results if "device" in row],
            "not_run": trouble,
        }
    nothing = {"rows": [], "cases": 0, "outside": 0, "failures": [], **left_out}
    for name, run_one in (("speed", speed), ("verify", verified)):
        report[name] = dict.fromkeys(devices, nothing)
        if name in parts:
            seconds = check.share(name) / len(devices)
            report[name] = {device: run_one(check, device, seconds) for device in devices}
    report["bandwidth"] = {}
    if "kernels" in parts or "model" in parts:
        rows, _ = check.part("bandwidth.py", *devices, seconds=min(START, 0.25 * check.remaining()))
        report["bandwidth"] = {row["device"]: row["bytes_per_second"] for row in rows}
    for name, run_all in (("kernels", kernels), ("model", model)):
        report[name] = {"rows": [], **left_out}
        if name in parts:
            report[name] = run_all(check, devices, report["bandwidth"])
    suites(check, devices, official)


def suites(check: Check, devices: list[str], official: Path | None) -> None:
    """Run the parts that compare with NumPy and references."""
    options = {
        "user kernels": ("own_kernels.py",),
        "random": ("random_keys.py",),
        "gradients": ("suite.py", "--gradients"),
        "compile": ("compiled.py",),
        "transforms": ("transformed.py",),
        "numpy": ("numpy_functions.py",),
        "others": ("others.py",),
        "tasks": ("many_devices.py",),
        "suite": ("suite.py",),
        "programs": ("suite.py", "--programs"),
        "official": ("suite.py", "--official", str(official)),
    }
    for name, (script, *more) in options.items():
        check.report[name] = {device: {**totals([]), "not_run": NOT_SELECTED} for device in devices}
        if name not in check.parts:
            continue
        until = check.remaining() - check.share(name)
        for index, device in enumerate(devices):
            seconds = (check.remaining() - until) / (len(devices) - index)
            results, trouble = check.part(script, device, *more, seconds=seconds)
            check.report[name][device] = {**totals(results), "not_run": trouble}
    if official is None:
        check.report["official"] = {"not_run": "no folder with the official suite was given"}


def verified(check: Check, device: str, seconds: float) -> dict[str, Any]:
    """Verify the kernels on a device; return the worst row of each kernel and dtype."""
    results, trouble = check.part("verification.py", device, seconds=seconds)
    worst: dict[tuple[str, str], dict[str, Any]] = {}
    for row in results:
        key = row["kernel"], row["dtype"]
        previous = worst.get(key)
        if previous is None or error_of(row) > error_of(previous):
            worst[key] = row
    return {
        "rows": list(worst.values()),
        "cases": sum(row["cases"] for row in results),
        "outside": sum(row["outside"] for row in results),
        "failures": [row for row in results if row["outside"]],
        "not_run": trouble,
    }


def error_of(row: dict[str, Any]) -> float:
    """Return a row's worst error in units of its bound; JSON stores infinity as null."""
    return float("inf") if row["worst"] is None else float(row["worst"])


def kernels(check: Check, devices: list[str], speeds: dict[str, float]) -> dict[str, Any]:
    """Time the kernels relative to PyTorch, bandwidth and the CPU."""
    cpu = neural.reference_cpu(check.report)
    measured = list(dict.fromkeys([*devices, cpu]))
    common = ("--device", *measured, "--repeats", "5", "--dtype", "float32")
    threads = ("--threads", str(os.cpu_count() or 1))
    seconds = check.share("kernels") / 2
    rows, troubles = [], []
    for more in (("--growth", "--row", *neural.MOVING), ("--row", *neural.COMPUTING)):
        report, trouble = benchmark("kernels.py", *common, *threads, *more, seconds=seconds)
        rows += report.get("rows", [])
        troubles += [trouble] if trouble else []
    return {"rows": neural.kernel_rows(rows, speeds, cpu), "not_run": "; ".join(troubles)}


def model(check: Check, devices: list[str], speeds: dict[str, float]) -> dict[str, Any]:
    """Time the language model relative to PyTorch, bandwidth and the CPU."""
    cpu = neural.reference_cpu(check.report)
    measured = list(dict.fromkeys([*devices, cpu]))
    threads = ("--threads", str(os.cpu_count() or 1))
    more = ("--device", *measured, "--repeats", "3", *threads)
    report, trouble = benchmark("model.py", *more, seconds=check.share("model"))
    return {**report, "rows": neural.model_rows(report, speeds, cpu), "not_run": trouble}


def speed(check: Check, device: str, seconds: float) -> dict[str, Any]:
    """Measure the overhead of calls on a device."""
    more = ("--device", device, "--repeats", "30")
    report, trouble = benchmark("overhead.py", *more, seconds=seconds)
    return {"rows": [], **report, "not_run": trouble}


def benchmark(script: str, *arguments: str, seconds: float) -> tuple[dict[str, Any], str]:
    """Run a benchmark; return its report, perhaps empty, and why it failed, if it did."""
    if seconds < 1:
        return {}, "no time remained"
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        out = Path(folder) / "report.json"
        command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments]
        trouble = run([*command, "--json", str(out)], seconds)
        report: dict[str, Any] = json.loads(out.read_text("utf-8")) if out.exists() else {}
    return report, trouble


def totals(rows: list[Any]) -> dict[str, Any]:
    """Return the number of cases by status, and every failure."""
    worst: dict[str, dict[str, Any]] = {}
    order = ("not run", "passed", "expected", "unexpected pass", "failed")
    for row in rows:
        # A case runs several times; its worst status counts.
        previous = worst.get(row["case"])
        if previous is None or order.index(row["status"]) > order.index(previous["status"]):
            worst[row["case"]] = row
    return {
        "counts": dict(Counter(row["status"] for row in worst.values())),
        "examples": sum(row["examples"] for row in rows),
        "failures": [
            row for row in worst.values() if row["status"] in ("failed", "unexpected pass")
        ],
    }


def show(report: dict[str, Any], missing: dict[str, str]) -> int:
    """Print the report; return the number of failures."""
    failures = 0
    print(f"portarray {report['version']}, Python {report['python']}, {report['machine']}")
    for name, reason in missing.items():
        print(f"  not run  {name}: {reason}")
    if not report["checked"]:
        print("there is no GPU: nothing was checked")
        return 0
    for device in report["checked"]:
        print(f"  {device}")
        for name in (
            *("user kernels", "random", "gradients", "compile", "transforms", "numpy", "others"),
            *("tasks", "suite", "programs", "official"),
        ):
            part = report[name].get(device, report[name])
            failures += len(part.get("failures", ()))
            # The device was named or functional, but nothing could run on it.
            failures += (
                name != "official" and not part["counts"] and part["not_run"] != NOT_SELECTED
            )
            counts = ", ".join(f"{n} {status}" for status, n in part.get("counts", {}).items())
            print(f"    {name:12} {counts or 'nothing'}{reason_of(part)}")
            for row in part.get("failures", ()):
                print(f"      {row['case']}: {row['message'].strip().splitlines()[-1:]}")
        part = report["verify"][device]
        failures += part["outside"] + (not part["cases"] and part["not_run"] != NOT_SELECTED)
        print(
            f"    verify    {part['cases']} cases, {part['outside']} out of bounds{reason_of(part)}"
        )
        for row in part["failures"]:
            print(f"      {row['kernel']} {row['dtype']}: {row['input']}: {row['problem']}")
        part = report["speed"][device]
        missed = [t["promise"] for t in part.get("targets", ()) if not t["holds"]]
        print(f"    speed     {len(part.get('rows', ()))} rows{reason_of(part)}")
        for promise in missed:
            print(f"      missed: {promise}")
    failures += show_movement(report["movement"])
    neural.show(report)
    print(f"{failures} failures in {report['seconds']} s")
    return failures


def show_movement(movement: dict[str, Any]) -> int:
    """Print the results of moving data; return the number of failures."""
    wrong = [row for row in (*movement["devices"], *movement["rows"]) if row["wrong"]]
    print(f"  movement: {len(movement['rows'])} pairs, {len(wrong)} wrong{reason_of(movement)}")
    for row in wrong:
        route = row.get("device") or f"{row['source']} to {row['target']}"
        print(f"    {route}: {'; '.join(row['wrong'][:3])}")
    for row in movement["bus"]:
        speeds = [
            f"{row[direction] / 1e9:.1f} GB/s {direction.replace('_', ' the ')}"
            for direction in DIRECTIONS
        ]
        print(f"    {row['bus']}, page-locked: {', '.join(speeds)}")
    return len(wrong)


def reason_of(part: dict[str, Any]) -> str:
    """Return why a part was not run completely."""
    return f"; not run: {part['not_run']}" if part.get("not_run") else ""


if __name__ == "__main__":
    sys.exit(main())
