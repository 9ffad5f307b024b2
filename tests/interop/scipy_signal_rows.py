"""Calls of SciPy on signals, images and rotations in the arrays' namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import ndimage, signal
from scipy.spatial.transform import RigidTransform, Rotation
from side_by_side import Make, Row, rows_of

import portarray as pa

_rng = np.random.default_rng(11)
SIGNAL = _rng.normal(size=64)
TAPS = _rng.normal(size=24)
TIMES = _rng.uniform(0.2, 3, 24)
IMAGE = _rng.normal(size=(9, 8))
LABELS = _rng.integers(0, 4, (9, 8))
SPOTS = IMAGE > 0
KERNEL = _rng.normal(size=(3, 3))
SYSTEM = _rng.normal(size=(4, 4))
POINTS = _rng.normal(size=(5, 3))
QUATERNIONS = _rng.normal(size=(5, 4))
PLACES = _rng.uniform(0, 7, (2, 10))
B, A = signal.butter(3, 0.3)
SECTIONS = signal.butter(3, 0.3, output="sos")


def _named(module: str, calls: dict[str, Callable[[Make], Any]], **options: Any) -> list[Row]:
    return [Row(f"{module}.{name}", call, **options) for name, call in calls.items()]


def _sized(name: str) -> Row:
    return Row(
        f"scipy.ndimage.{name}", lambda a: getattr(ndimage, name)(a(IMAGE), size=3), host=True
    )


def _blurred(name: str) -> Row:
    return Row(f"scipy.ndimage.{name}", lambda a: getattr(ndimage, name)(a(IMAGE), 1.0), host=True)


def _measured(name: str) -> Row:
    return Row(
        f"scipy.ndimage.{name}",
        lambda a: getattr(ndimage, name)(a(IMAGE), a(LABELS), a([1, 2])),
        host=True,
    )


NDIMAGE = [
    *map(_blurred, ("gaussian_filter", "gaussian_laplace", "gaussian_gradient_magnitude")),
    *rows_of(ndimage, "laplace prewitt sobel uniform_filter spline_filter", [IMAGE], host=True),
    *map(
        _sized,
        (
            *("median_filter", "minimum_filter", "maximum_filter", "grey_closing"),
            *("grey_dilation", "grey_erosion", "grey_opening", "white_tophat", "black_tophat"),
            *("morphological_gradient", "morphological_laplace"),
        ),
    ),
    *rows_of(ndimage, "convolve correlate", [IMAGE, KERNEL], host=True),
    *map(
        _measured,
        (
            *("center_of_mass", "sum", "mean", "median", "minimum", "maximum", "variance"),
            *("standard_deviation", "minimum_position", "maximum_position", "extrema"),
        ),
    ),
    *rows_of(
        ndimage,
        "binary_closing binary_dilation binary_erosion binary_fill_holes binary_opening "
        "binary_propagation binary_hit_or_miss distance_transform_edt distance_transform_cdt "
        "distance_transform_bf label",
        [SPOTS],
        host=True,
    ),
    *_named(
        "scipy.ndimage",
        {
            "percentile_filter": lambda a: ndimage.percentile_filter(a(IMAGE), 20, size=3),
            "rank_filter": lambda a: ndimage.rank_filter(a(IMAGE), 2, size=3),
            "generic_filter": lambda a: ndimage.generic_filter(a(IMAGE), np.sum, size=3),
            "affine_transform": lambda a: ndimage.affine_transform(a(IMAGE), a(1.1 * np.eye(2))),
            "map_coordinates": lambda a: ndimage.map_coordinates(a(IMAGE), a(PLACES)),
            "rotate": lambda a: ndimage.rotate(a(IMAGE), 30.0),
            "shift": lambda a: ndimage.shift(a(IMAGE), 1.5),
            "zoom": lambda a: ndimage.zoom(a(IMAGE), 1.5),
            "histogram": lambda a: ndimage.histogram(a(IMAGE), -1, 1, 5),
            "value_indices": lambda a: list(ndimage.value_indices(a(LABELS)).values()),
            "fourier_gaussian": lambda a: ndimage.fourier_gaussian(a(IMAGE + 0j), 1.0),
            "fourier_shift": lambda a: ndimage.fourier_shift(a(IMAGE + 0j), 1.0),
        },
        host=True,
    ),
    Row("scipy.ndimage.find_objects", lambda a: ndimage.find_objects(a(LABELS)), host=True),
]


def _there_and_back(a: Make) -> Any:
    """Return a filter converted to zeros and poles and back, since their order may differ."""
    return signal.zpk2tf(*signal.tf2zpk(a(B), a(A)))


SIGNAL_ROWS = [
    *rows_of(signal, "fftconvolve oaconvolve", [SIGNAL, TAPS]),
    *rows_of(signal, "envelope hilbert", [SIGNAL]),
    *rows_of(signal, "hilbert2", [IMAGE]),
    *rows_of(signal, "abcd_normalize", [SYSTEM, SYSTEM[:, :1], SYSTEM[:1], SYSTEM[:1, :1]]),
    *rows_of(signal, "vectorstrength", [TIMES, 2.0]),
    *rows_of(signal, "freqs", [B, A, TIMES]),
    *_named(
        "scipy.signal",
        {
            "resample": lambda a: signal.resample(a(SIGNAL), 32),
            "gauss_spline": lambda a: signal.gauss_spline(a(TIMES), 3),
        },
    ),
    *rows_of(signal, "convolve correlate", [SIGNAL, TAPS], host=True),
    *rows_of(signal, "convolve2d", [IMAGE, KERNEL], host=True),
    *rows_of(signal, "filtfilt lfilter", [B, A, SIGNAL], host=True),
    *rows_of(signal, "lfilter_zi bilinear", [B, A], host=True),
    *rows_of(signal, "sosfilt sosfiltfilt", [SECTIONS, SIGNAL], host=True),
    *rows_of(signal, "sosfilt_zi sos2tf", [SECTIONS], host=True),
    *rows_of(signal, "detrend medfilt cspline1d", [SIGNAL], host=True),
    *rows_of(signal, "medfilt2d wiener", [IMAGE], host=True),
    *rows_of(signal, "cspline1d_eval", [SIGNAL, TIMES], host=True),
    *_named(
        "scipy.signal",
        {
            "deconvolve": lambda a: signal.deconvolve(a(SIGNAL), a(TIMES[:2])),
            "order_filter": lambda a: signal.order_filter(a(IMAGE), a(np.ones((3, 3))), 1),
            "resample_poly": lambda a: signal.resample_poly(a(SIGNAL), 3, 2),
            "upfirdn": lambda a: signal.upfirdn(a(TAPS), a(SIGNAL), 2, 3),
            "savgol_filter": lambda a: signal.savgol_filter(a(SIGNAL), 7, 2),
            "tf2zpk": _there_and_back,
            "tf2sos": lambda a: signal.sos2tf(signal.tf2sos(a(B), a(A))),
            "zpk2tf": lambda a: signal.zpk2tf(a([1.0, 2.0]), a([0.5, 0.2]), 2.0),
            "butter": lambda a: signal.butter(3, a(0.3)),
            "firwin2": lambda a: signal.firwin2(21, a([0.0, 0.5, 1.0]), a([1.0, 1.0, 0.0])),
        },
        rtol=1e-5,
        host=True,
    ),
    *_named(
        "scipy.signal",
        {"group_delay": lambda a: signal.group_delay((a(B), a(A)))},
        host=True,
        rtol=1e-5,  # SciPy divides by what is zero but for rounding at the last frequencies
    ),
    *rows_of(signal, "freqz", [B, A]),
    *rows_of(signal, "freqz_sos", [SECTIONS]),
    *_named(
        "scipy.signal",
        {
            "lfiltic": lambda a: signal.lfiltic(a(B), a(A), a([1.0, 2.0])),
            "lp2lp": lambda a: signal.lp2lp(a(B), a(A), 2.0),
            "lp2hp": lambda a: signal.lp2hp(a(B), a(A), 2.0),
            "minimum_phase": lambda a: signal.minimum_phase(a(signal.firwin(21, 0.3))),
        },
        rtol=1e-5,
    ),
]


def _window(name: str, *arguments: Any, **options: Any) -> Row:
    """Return a row that makes a window for a given namespace and device."""

    def call(a: Make) -> Any:
        x = a(1.0)
        where = {"xp": x.__array_namespace__()} if isinstance(x, pa.Array) else {}
        return getattr(signal.windows, name)(16, *arguments, **where)

    return Row(f"scipy.signal.windows.{name}", call, **options)


WINDOWS = [
    *map(_window, ("hann", "hamming", "blackman", "bartlett", "parzen", "cosine", "triang")),
    _window("gaussian", 3.0),
    _window("kaiser", 5.0, host=True),
]


def _quaternions(a: Make, values: Any = QUATERNIONS) -> Any:
    return Rotation.from_quat(a(values))


def _moved(a: Make) -> Any:
    return RigidTransform.from_components(a(POINTS), _quaternions(a))


TRANSFORMS = [
    *_named(
        "Rotation",
        {
            "as_matrix": lambda a: _quaternions(a).as_matrix(),
            "as_euler": lambda a: _quaternions(a).as_euler("xyz"),
            "from_euler": lambda a: Rotation.from_euler("xyz", a(POINTS)).as_quat(),
            "from_rotvec": lambda a: Rotation.from_rotvec(a(POINTS)).as_rotvec(),
            "from_matrix": lambda a: Rotation.from_matrix(_quaternions(a).as_matrix()).as_quat(),
            "product": lambda a: (_quaternions(a) * _quaternions(a, QUATERNIONS[::-1])).as_quat(),
            "power": lambda a: (_quaternions(a) ** 2).as_quat(),
            "apply": lambda a: _quaternions(a).apply(a(POINTS)),
            "inv": lambda a: _quaternions(a).inv().as_mrp(),
            "mean": lambda a: _quaternions(a).mean().as_matrix(),
            "magnitude": lambda a: _quaternions(a).magnitude(),
            "indexing": lambda a: _quaternions(a)[1].as_quat(),
            "iteration": lambda a: [rotation.as_quat() for rotation in _quaternions(a)],
            "concatenate": lambda a: Rotation.concatenate([_quaternions(a)] * 2).as_quat(),
            "align_vectors": lambda a: Rotation.align_vectors(a(POINTS), a(POINTS[::-1]))[
                0
            ].as_matrix(),
        },
        rtol=1e-7,
    ),
    Row(
        "Rotation reduce",
        lambda a: _quaternions(a).reduce(_quaternions(a, QUATERNIONS[:2])).as_quat(),
        fails="SciPy fills the missing group with ones outside NumPy, so that PyTorch and "
        "array_api_strict get the same wrong answer: "
        "https://github.com/scipy/scipy/blob/v1.17.1/scipy/spatial/transform/_rotation_xp.py#L568",
    ),
    *_named(
        "RigidTransform",
        {
            "apply": lambda a: _moved(a).apply(a(POINTS)),
            "inv": lambda a: _moved(a).inv().as_matrix(),
            "as_dual_quat": lambda a: _moved(a).as_dual_quat(),
            "exponential": lambda a: RigidTransform.from_exp_coords(
                a(np.hstack([POINTS, POINTS]))
            ).as_exp_coords(),
        },
        rtol=1e-6,
    ),
]

ROWS = [*NDIMAGE, *SIGNAL_ROWS, *WINDOWS, *TRANSFORMS]
