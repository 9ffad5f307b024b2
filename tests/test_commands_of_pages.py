"""Commands on the pages run here, or the program parses their options."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])

# Seconds each, and nothing is left behind but in the user's folder of preferences.
RUN = (
    r"portarray (cache|devices|doctor|routes|support|prefer)\b(?!.*(--measure|mylib)).*",
    r"python benchmarks/kernels\.py --list",
)
# Minutes, a model, a browser, or what other tests run at a small size: benchmarks by
# tests/benchmarks, examples by tests/examples, the suites by tests/conformance.
READ = (
    r"portarray (bench|conformance run|routes .*--measure|verify)\b(?!.*mylib).*",
    r"python benchmarks/(\w+)\.py\b.*",
    r"python gpu_check\b.*",  # needs a GPU, as its page says
    r"python -m examples\.\w+.*",
)
# Other programs: what they are given is looked at by a rule of its own, below.
OTHERS = {
    "tests/examples/test_tour.py and test_digits.py run them": r"python examples/(tour|digits)\.py",
    "the reader's own library; tests/examples/test_plugin.py has one": r"portarray .*mylib.*",
    "tests/testing/test_example_library.py runs it": r"portarray device-report .*",
    "the reader's own program": r"GLIBC_TUNABLES=\S+ python train\.py",
    "needs several machines": r"dask (scheduler|worker) ?.*",
    "needs a server that runs, as tests/examples/test_llama_serving.py has one": r"curl .*",
    "in the reader's project; tests/testing runs the plugin": r"pytest( --devices=all.*)?",
}
INSTALL = r"(?:python -m )?pip install (?:--no-deps )?(.*)"
NOX = r"(?:\w+=\S+ )?nox(?: -s (\S+))?(?: -- (.*))?"

# Runs programs up to where they have read their options.
READER = """
import argparse, json, os, runpy, sys
sys.path.insert(0, os.getcwd())
import click

class Read(BaseException):
    pass

def parse_args(self, *arguments, **options):
    parsed(self, *arguments, **options)
    raise Read

def invoke(self, context):
    if isinstance(self, click.Group):
        return invoked(self, context)
    raise Read

parsed, argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_args, parse_args
invoked, click.Command.invoke = click.Command.invoke, invoke
path, wrong = list(sys.path), []
for words in json.loads(sys.stdin.read()):
    module = words[0] == "-m"
    sys.argv = words[module:]
    sys.path[:] = path if module else [os.path.dirname(words[0]), *path]
    before = set(sys.modules)
    try:
        run = runpy.run_module if module else runpy.run_path
        run(sys.argv[0], run_name="__main__", **({"alter_sys": True} if module else {}))
    except Read:
        pass
    except SystemExit as error:
        wrong.append([words, f"ended with {error.code}"])
    else:
        wrong.append([words, "read no options"])
    for name in set(sys.modules) - before:  # folders have modules of the same name
        if "." not in name and getattr(sys.modules[name], "__file__", None) and (
            os.path.dirname(sys.modules[name].__file__ or "") == os.path.dirname(words[0])
        ):
            del sys.modules[name]
print(json.dumps(wrong))
"""


def commands() -> Iterator[tuple[str, str]]:
    """Yield each command and its page, from blocks without a language or in a shell's."""
    programs = r"((\w+=\S+ )*(python|pip|nox|portarray|dask|curl|pytest|\.ci/run))( |$)"
    for path in PAGES:
        text = path.read_text("utf-8").replace("\\\n", " ")
        # Fences come in pairs; what stands between two blocks is no block.
        for index, block in enumerate(re.split(r"^ *(?=```)", text, flags=re.M)):
            language, _, lines = block.partition("\n")
            if index % 2 == 0 or language.strip("`") not in ("", "bash", "console", "sh"):
                continue
            typed = [line.strip() for line in lines.splitlines()]
            # Where prompts are shown, the rest is what programs print.
            if any(line.startswith("$ ") for line in typed):
                typed = [line[2:] for line in typed if line.startswith("$ ")]
            for line in typed:
                if re.match(programs, line):
                    for part in re.sub(r"\s+#.*", "", line).split(" && "):
                        yield path.name, part.strip()


def matching(*patterns: str) -> list[str]:
    shown = {command for _, command in commands()}
    return sorted(c for c in shown if any(re.fullmatch(pattern, c) for pattern in patterns))


def typed(command: str) -> list[str]:
    """Return the arguments of Python in a command, without redirections."""
    arguments = shlex.split(command.partition(" > ")[0])
    return arguments[1:] if arguments[0] == "python" else ["-m", *arguments]


def test_every_command_has_a_rule() -> None:
    if not (ROOT / "docs").is_dir():
        pytest.skip("the pages are not beside the tests")
    rules = (*RUN, *READ, *OTHERS.values(), INSTALL, NOX)
    unknown = {c for _, c in commands()} - set(matching(*rules))
    assert unknown == set()
    assert all(matching(rule) for rule in rules), "a rule that no page needs"


@pytest.mark.parametrize("command", matching(*RUN))
def test_a_command_runs(command: str, tmp_path: Path) -> None:
    pytest.importorskip("click", reason="the extra portarray[cli] is not installed")
    if "cuda" in command and "routes" in command:
        pytest.skip("needs a GPU of NVIDIA's")
    arguments = typed(command)
    # Preferences of this user stay as they are, and files are written elsewhere.
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    arguments = [str(ROOT / word) if word.endswith(".py") else word for word in arguments]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_options_of_long_commands_are_read() -> None:
    for needed in ("click", "torch", "tokenizers", "matplotlib", "sklearn", "distributed"):
        pytest.importorskip(needed, reason=f"some programs of the pages import {needed}")
    listed = []
    for command in matching(*READ):
        arguments = typed(command)
        listed.append(
            ["gpu_check/__main__.py", *arguments[1:]] if arguments[0] == "gpu_check" else arguments
        )
    done = subprocess.run(
        [sys.executable, "-c", READER],
        input=json.dumps(listed),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [], done.stderr


def test_installed_extras_and_folders_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    for command in matching(INSTALL):
        for word in shlex.split(command.partition("install ")[2]):
            if word.startswith("."):
                named = re.fullmatch(r"\.(?:\[([\w,-]+)\]|/(\w+))", word)
                assert named, command
                assert named[2] or set(named[1].split(",")) <= extras, command
                assert not named[2] or (ROOT / named[2] / "pyproject.toml").is_file(), command


def test_sessions_and_benchmarks_exist() -> None:
    source = (ROOT / "noxfile.py").read_text("utf-8")
    sessions = set(re.findall(r"^def (\w+)\(session: nox\.Session\)", source, re.M))
    sessions |= set(re.findall(r'@nox\.session\(name="([\w-]+)"', source))
    for command in matching(NOX):
        match = re.fullmatch(NOX, command)
        assert match
        assert match[1] is None or match[1] in sessions, command
        if match[1] == "bench" and match[2]:
            assert (ROOT / "benchmarks" / f"{match[2].split()[0]}.py").is_file(), command
