"""Requirements of rows that some devices do not meet, and rows shown in the docs."""

from __future__ import annotations

# --- complex numbers of double precision ---------------------------------------------------------

# MLX has float64 on CPUs, and complex64 only: https://ml-explore.github.io/mlx/build/html/python/data_types.html
# These compute in single precision there, as their users must; given float64 they raise.
COMPLEX = frozenset(
    {
        *(f"scipy.fft.{name}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")),
        *(f"scipy.fft.{name}" for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")),
        *(f"scipy.fft.{name}" for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")),
        *("scipy.ndimage.fourier_gaussian", "scipy.ndimage.fourier_shift"),
        *("scipy.signal.fftconvolve", "scipy.signal.oaconvolve", "scipy.signal.resample"),
        *("scipy.signal.envelope", "scipy.signal.hilbert", "scipy.signal.hilbert2"),
        *("scipy.signal.vectorstrength", "scipy.signal.freqs", "scipy.signal.freqz"),
        *("scipy.signal.freqz_sos", "scipy.signal.minimum_phase", "scipy.signal.tf2sos"),
        "array_api_extra.angle",
    }
)

# SciPy makes complex128 of single precision too, in NumPy or by name.
COMPLEX128 = frozenset(
    {
        *("scipy.fft.fht", "scipy.fft.ifht"),
        *("scipy.signal.tf2zpk", "scipy.signal.butter", "scipy.signal.firwin2"),
        "scipy.signal.group_delay",
    }
)

# --- memory that can be written into -------------------------------------------------------------

# Arrays of JAX and MLX are immutable: NumPy reads them read-only.
READ_ONLY = {
    "scipy.signal.sosfilt": (
        "its compiled loop asks for writable arrays, which it only reads: "
        "https://github.com/scipy/scipy/blob/main/scipy/signal/_sosfilt.pyx"
    ),
    "scipy.signal.sosfiltfilt": (
        "its compiled loop asks for writable arrays, which it only reads: "
        "https://github.com/scipy/scipy/blob/main/scipy/signal/_sosfilt.pyx"
    ),
}

# And a part of one is a copy, so that what is written into it is lost.
THROUGH_VIEWS = {
    "GaussianMixture": (
        "adds 1e-6 to the diagonal of covariances[k], a view: "
        "https://github.com/scikit-learn/scikit-learn/blob/main/sklearn/mixture/_gaussian_mixture.py"
    ),
    "scipy.interpolate.PchipInterpolator": (
        "writes slopes at a mask into dk[1:-1], a view: "
        "https://github.com/scipy/scipy/blob/main/scipy/interpolate/_cubic.py"
    ),
}

# --- what the page shows -------------------------------------------------------------------------

SHOWN = (
    *("scipy.special.logsumexp", "scipy.special.softmax", "scipy.special.erf"),
    *("scipy.special.gammaln", "scipy.stats.gmean", "scipy.stats.zscore", "scipy.stats.skew"),
    *("scipy.stats.ttest_ind", "scipy.stats.quantile"),
    *("scipy.fft.fft", "scipy.fft.irfft", "scipy.fft.dct"),
    *("scipy.signal.fftconvolve", "scipy.signal.hilbert", "scipy.signal.resample"),
    *("scipy.signal.freqz", "scipy.signal.lfilter", "scipy.signal.sosfilt"),
    *("scipy.ndimage.gaussian_filter", "scipy.ndimage.label"),
    *("scipy.integrate.trapezoid", "scipy.integrate.simpson", "scipy.optimize.rosen"),
    *("scipy.cluster.vq.whiten", "scipy.cluster.vq.vq", "scipy.cluster.hierarchy.linkage"),
    *("scipy.interpolate.CubicSpline", "scipy.linalg.orthogonal_procrustes", "Rotation.apply"),
    *("PCA full", "Ridge", "LogisticRegression", "LinearDiscriminantAnalysis", "GaussianNB"),
    *("GaussianMixture", "Nystroem", "StandardScaler", "PolynomialFeatures", "LabelEncoder"),
    *("train_test_split", "sklearn.metrics.accuracy_score", "sklearn.metrics.confusion_matrix"),
    *("sklearn.metrics.r2_score", "sklearn.metrics.pairwise.euclidean_distances"),
    *("sklearn.metrics.pairwise.rbf_kernel", "KMeans"),
)
