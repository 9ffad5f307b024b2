"""Types for annotations: what functions accept, and what a namespace of native arrays has."""

from portarray.typing.aliases import (
    ArrayLike,
    Axes,
    DeviceLike,
    DType,
    DTypeLike,
    FftNorm,
    NestedSequence,
    Real,
    Scalar,
    ShapeLike,
    SupportsBuffer,
    SupportsDLPack,
)

__all__ = [
    "ArrayLike",
    "Axes",
    "DType",
    "DTypeLike",
    "DeviceLike",
    "FftNorm",
    "NestedSequence",
    "Real",
    "Scalar",
    "ShapeLike",
    "SupportsBuffer",
    "SupportsDLPack",
]
