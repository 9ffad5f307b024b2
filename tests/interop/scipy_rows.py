"""Calls of SciPy that compute in the arrays' namespace, with ``SCIPY_ARRAY_API=1`` set.

SciPy's own table of what it supports:
https://docs.scipy.org/doc/scipy/dev/api-dev/array_api.html. Its compiled functions read the arrays
with NumPy and make arrays of the results with the namespace's ``asarray``, on the default device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import (
    constants,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    optimize,
    special,
    stats,
)
from scipy.cluster import hierarchy, vq
from scipy.optimize import elementwise
from side_by_side import Make, Row, rows_of

_rng = np.random.default_rng(7)
UNIT = _rng.uniform(0.1, 0.9, (6, 4))
POSITIVE = _rng.uniform(0.2, 3, 24)
NORMAL = _rng.normal(size=24)
MATRIX = _rng.normal(size=(8, 8))
POINTS = _rng.normal(size=(20, 3))
IMAGE = _rng.normal(size=(9, 8))
LINKED = hierarchy.linkage(POINTS, "average")
GRID = np.linspace(0, 3, 24)


def _named(module: str, calls: dict[str, Callable[[Make], Any]], **options: Any) -> list[Row]:
    return [Row(f"scipy.{module}.{name}", call, **options) for name, call in calls.items()]


SPECIAL = [
    *rows_of(
        special,
        "entr erf erfc erfcx erfinv expit gamma gammaln i0 i0e i1 i1e log_ndtr logit ndtr ndtri "
        "psi",
        [UNIT],
    ),
    *rows_of(
        special,
        "cbrt cosdg cosm1 cotdg ellipk ellipkm1 exp1 exp10 exp2 exprel expi gammasgn j0 j1 k0 k0e "
        "k1 k1e loggamma rgamma sinc sindg spence tandg y0 y1 zetac",
        [UNIT],
        host=True,
    ),
    *rows_of(
        special,
        "betaln gammainc gammaincc kl_div rel_entr xlog1py xlogy",
        [UNIT, UNIT[::-1]],
    ),
    *rows_of(
        special,
        "binom boxcox boxcox1p chdtr chdtrc chdtri gammainccinv gammaincinv huber inv_boxcox "
        "inv_boxcox1p poch pseudo_huber stdtr",
        [UNIT, UNIT[::-1]],
        host=True,
    ),
    *rows_of(special, "betainc", [UNIT, UNIT[::-1] + 0.1, UNIT]),
    *rows_of(
        special,
        "betaincc betaincinv fdtr fdtrc fdtri gdtr gdtrc hyp1f1 radian",
        [UNIT, UNIT[::-1] + 0.1, UNIT],
        host=True,
    ),
    *rows_of(special, "zeta", [UNIT + 1, UNIT]),
    *_named("special", {"polygamma": lambda a: special.polygamma(2, a(UNIT))}),
    *_named(
        "special",
        {"multigammaln": lambda a: special.multigammaln(a(UNIT + 3), 2)},
        host=True,
    ),
    *_named(
        "special",
        {
            "logsumexp": lambda a: special.logsumexp(a(UNIT), axis=1),
            "logsumexp weighted": lambda a: special.logsumexp(
                a(UNIT), axis=0, b=a(UNIT), return_sign=True
            ),
            "softmax": lambda a: special.softmax(a(UNIT), axis=1),
            "log_softmax": lambda a: special.log_softmax(a(UNIT), axis=0),
        },
    ),
]


def _mean(x: Any, axis: int) -> Any:
    return x.mean(axis=axis)


def _resampled(a: Make) -> Any:
    rng = np.random.default_rng(1)
    samples = stats.bootstrap((a(NORMAL),), _mean, rng=rng, n_resamples=20, method="percentile")
    return samples.confidence_interval


def _permuted(a: Make) -> Any:
    def distance(x: Any, y: Any, axis: int) -> Any:
        return _mean(x, axis) - _mean(y, axis)

    rng = np.random.default_rng(1)
    result = stats.permutation_test((a(NORMAL), a(POSITIVE)), distance, rng=rng, n_resamples=20)
    return result.pvalue, result.null_distribution


def _simulated(a: Make) -> Any:
    rng = np.random.default_rng(3)
    result = stats.monte_carlo_test(
        a(NORMAL), lambda size: a(rng.normal(size=size)), _mean, n_resamples=20
    )
    return result.statistic, result.pvalue


STATS = [
    *rows_of(
        stats,
        "gmean hmean tmean tvar tstd tsem moment skew kurtosis sem zscore gzscore gstd "
        "median_abs_deviation variation differential_entropy kstat kstatvar circmean circvar "
        "circstd describe tmin tmax mode",
        [POSITIVE],
    ),
    *rows_of(stats, "iqr rankdata", [POSITIVE]),
    *rows_of(
        stats,
        "skewtest kurtosistest normaltest jarque_bera entropy chisquare lmoment",
        [POSITIVE],
        host=True,
    ),
    *rows_of(
        stats,
        "ttest_ind ttest_rel pearsonr mannwhitneyu f_oneway bartlett levene fligner mood ansari "
        "kruskal alexandergovern brunnermunzel epps_singleton_2samp cramervonmises_2samp "
        "chatterjeexi spearmanrho wilcoxon",
        [POSITIVE, NORMAL],
        host=True,
    ),
    *_named(
        "stats",
        {
            "friedmanchisquare": lambda a: stats.friedmanchisquare(
                a(POSITIVE), a(NORMAL), a(POSITIVE * NORMAL)
            ),
            "ttest_1samp": lambda a: stats.ttest_1samp(a(UNIT), 0.5),
            "ttest_ind_from_stats": lambda a: stats.ttest_ind_from_stats(
                a(1.0), a(0.5), 10, a(1.2), a(0.4), 12
            ),
            "ks_1samp": lambda a: stats.ks_1samp(a(NORMAL), special.ndtr),
            "cramervonmises": lambda a: stats.cramervonmises(a(NORMAL), special.ndtr),
            "combine_pvalues": lambda a: stats.combine_pvalues(a([0.1, 0.2, 0.05])),
            "power_divergence": lambda a: stats.power_divergence(
                a(POSITIVE), a(POSITIVE[::-1]), lambda_="log-likelihood"
            ),
        },
        host=True,
    ),
    *_named(
        "stats",
        {
            "gmean of rows": lambda a: stats.gmean(a(UNIT), axis=1, keepdims=True),
            "pmean": lambda a: stats.pmean(a(UNIT), 2, axis=1),
            "zmap": lambda a: stats.zmap(a(POSITIVE), a(NORMAL)),
            "trim_mean": lambda a: stats.trim_mean(a(POSITIVE), 0.1),
            "sigmaclip": lambda a: stats.sigmaclip(a(NORMAL), 1.5, 1.5),
            "quantile": lambda a: stats.quantile(a(POSITIVE), a([0.1, 0.5])),
            "directional_stats": lambda a: stats.directional_stats(a(POINTS)),
            "false_discovery_control": lambda a: stats.false_discovery_control(
                a([0.01, 0.2, 0.05])
            ),
            "boxcox_llf": lambda a: stats.boxcox_llf(0.5, a(POSITIVE)),
            "yeojohnson_llf": lambda a: stats.yeojohnson_llf(0.5, a(POSITIVE)),
            "bootstrap": _resampled,
            "monte_carlo_test": _simulated,
        },
    ),
    Row("scipy.stats.permutation_test", _permuted),
]

FFT = [
    *rows_of(
        fft,
        "fft ifft rfft irfft hfft ihfft fftn ifftn fft2 ifft2 rfftn rfft2 irfftn irfft2 hfft2 "
        "ihfft2 hfftn ihfftn fftshift ifftshift",
        [IMAGE],
    ),
    *rows_of(
        fft,
        "dct idct dst idst dctn idctn dstn idstn",
        [IMAGE],
        host=True,
    ),
    *_named(
        "fft",
        {
            "fht": lambda a: fft.fht(a(NORMAL), 0.1, 0.5),
            "ifht": lambda a: fft.ifht(a(NORMAL), 0.1, 0.5),
        },
    ),
]


def _cubic(x: Any, c: Any) -> Any:
    return x**3 - c


def _bowl(x: Any, c: Any) -> Any:
    return (x - c) ** 2 + 1


def _bent(x: Any) -> Any:
    return x[0] ** 2 * x[1] + x[1] ** 3


CALCULUS = [
    *_named(
        "integrate",
        {
            "trapezoid": lambda a: integrate.trapezoid(a(POSITIVE), x=a(GRID)),
            "cumulative_trapezoid": lambda a: integrate.cumulative_trapezoid(a(UNIT), axis=0),
        },
    ),
    Row("scipy.integrate.simpson", lambda a: integrate.simpson(a(NORMAL), x=a(GRID)), host=True),
    *_named(
        "integrate",
        {
            "cumulative_simpson": lambda a: integrate.cumulative_simpson(a(NORMAL), x=a(GRID)),
            "romb": lambda a: integrate.romb(a(GRID[:17])),
            "cubature": lambda a: (
                integrate.cubature(
                    lambda x: x[:, 0] * x[:, 1], a([0.0, 0.0]), a([1.0, 2.0])
                ).estimate
            ),
            "tanhsinh": lambda a: (
                integrate.tanhsinh(lambda x: x * x, a([0.0, 0.5]), a([1.0, 2.0])).integral
            ),
            "nsum": lambda a: (
                integrate.nsum(lambda k: 1 / (k * k), a([1.0, 2.0]), a([10.0, 20.0])).sum
            ),
            "qmc_quad": lambda a: (
                integrate.qmc_quad(
                    lambda x: x[0] * x[1],
                    a([0.0, 0.0]),
                    a([1.0, 2.0]),
                    n_points=64,
                    qrng=stats.qmc.Halton(2, rng=np.random.default_rng(1)),
                ).integral
            ),
        },
    ),
    *rows_of(optimize, "rosen rosen_der", [POSITIVE]),
    *rows_of(optimize, "rosen_hess", [POSITIVE]),
    *rows_of(optimize, "rosen_hess_prod", [POSITIVE, NORMAL]),
    *_named(
        "optimize.elementwise",
        {
            "find_root": lambda a: (
                elementwise.find_root(
                    _cubic, (a([0.0, 0.0]), a([2.0, 3.0])), args=(a([1.0, 2.0]),)
                ).x
            ),
            "bracket_root": lambda a: (
                elementwise.bracket_root(_cubic, a([0.0, 0.0]), args=(a([1.0, 2.0]),)).bracket
            ),
            "bracket_minimum": lambda a: (
                elementwise.bracket_minimum(_bowl, a([0.0, 0.0]), args=(a([1.0, 2.0]),)).bracket
            ),
        },
    ),
    Row(
        "scipy.optimize.elementwise.find_minimum",
        lambda a: (
            elementwise.find_minimum(
                _bowl, (a([0.0, 0.0]), a([0.5, 0.8]), a([2.0, 3.0])), args=(a([1.0, 2.0]),)
            ).x
        ),
        rtol=1e-6,
    ),
    *_named(
        "differentiate",
        {
            "derivative": lambda a: differentiate.derivative(lambda x: x**3, a([1.0, 2.0])).df,
            "jacobian": lambda a: differentiate.jacobian(lambda x: x**3, a([1.0, 2.0])).df,
            "hessian": lambda a: differentiate.hessian(_bent, a([1.0, 2.0])).ddf,
        },
        rtol=1e-5,
    ),
]

CLUSTER = [
    *rows_of(vq, "whiten", [POINTS]),
    *rows_of(vq, "vq kmeans kmeans2", [POINTS, POINTS[:3]], host=True),
    *rows_of(
        hierarchy,
        "single complete average weighted centroid median ward linkage",
        [POINTS],
        host=True,
    ),
    *rows_of(
        hierarchy,
        "cophenet inconsistent leaves_list maxdists",
        [LINKED],
        host=True,
    ),
    *rows_of(
        hierarchy,
        "is_valid_linkage is_monotonic num_obs_linkage to_mlab_linkage",
        [LINKED],
    ),
    *_named(
        "cluster.hierarchy",
        {
            "fcluster": lambda a: hierarchy.fcluster(a(LINKED), 3, "maxclust"),
            "fclusterdata": lambda a: hierarchy.fclusterdata(a(POINTS), 1.0),
            "optimal_leaf_ordering": lambda a: hierarchy.optimal_leaf_ordering(
                a(LINKED), a(POINTS)
            ),
        },
        host=True,
    ),
]

KNOTS = [0, 0, 0, 0, 1.0, 2.0, 3.0, 3, 3, 3]


def _spline(a: Make) -> Any:
    return interpolate.make_interp_spline(a(GRID), a(NORMAL))


INTERPOLATE = [
    *_named(
        "interpolate",
        {
            "CubicSpline": lambda a: interpolate.CubicSpline(a(GRID), a(NORMAL))(a(POSITIVE)),
            "Akima1DInterpolator": lambda a: interpolate.Akima1DInterpolator(a(GRID), a(NORMAL))(
                a(POSITIVE)
            ),
            "CubicHermiteSpline": lambda a: interpolate.CubicHermiteSpline(
                a(GRID), a(NORMAL), a(POSITIVE)
            )(a(POSITIVE)),
            "make_interp_spline": lambda a: _spline(a)(a(POSITIVE)),
            "make_interp_spline derivative": lambda a: _spline(a).derivative()(a(POSITIVE)),
            "make_smoothing_spline": lambda a: interpolate.make_smoothing_spline(
                a(GRID), a(NORMAL)
            )(a(POSITIVE)),
            "make_lsq_spline": lambda a: interpolate.make_lsq_spline(a(GRID), a(NORMAL), a(KNOTS))(
                a(POSITIVE)
            ),
            "make_splrep": lambda a: interpolate.make_splrep(a(GRID), a(NORMAL), s=1.0)(
                a(POSITIVE)
            ),
            "RegularGridInterpolator": lambda a: interpolate.RegularGridInterpolator(
                (a(np.arange(9.0)), a(np.arange(8.0))), a(IMAGE)
            )(a(POSITIVE.reshape(12, 2))),
            "PPoly": lambda a: interpolate.PPoly(a(MATRIX[:4, :7]), a(np.arange(8.0)))(a(POSITIVE)),
            "BPoly": lambda a: interpolate.BPoly(a(MATRIX[:4, :7]), a(np.arange(8.0)))(a(POSITIVE)),
        },
        host=True,
        rtol=1e-7,
    ),
    Row(
        "scipy.interpolate.PchipInterpolator",
        lambda a: interpolate.PchipInterpolator(a(GRID), a(NORMAL))(a(POSITIVE)),
        host=True,
    ),
    Row(
        "scipy.interpolate.RBFInterpolator",
        lambda a: interpolate.RBFInterpolator(a(POINTS), a(POINTS[:, 0]))(a(POINTS + 0.1)),
        host=True,
    ),
]

CONSTANTS = [
    Row(
        "scipy.constants.convert_temperature",
        lambda a: constants.convert_temperature(a(POSITIVE), "C", "K"),
    ),
    *rows_of(constants, "lambda2nu nu2lambda", [POSITIVE]),
    *rows_of(linalg, "orthogonal_procrustes", [MATRIX, MATRIX.T]),
    *rows_of(linalg, "fiedler", [POSITIVE]),
    *rows_of(linalg, "block_diag", [MATRIX, UNIT]),
]

ROWS = [*SPECIAL, *STATS, *FFT, *CALCULUS, *CLUSTER, *INTERPOLATE, *CONSTANTS]
