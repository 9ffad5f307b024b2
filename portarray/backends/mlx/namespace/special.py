"""MLX's special functions; its erf is 0 for tiny numbers, and others compute float64 in float32."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.types import Rows

BY_DTYPE: Rows = {"erfinv": {"float32": mx.erfinv}, "expit": {"float32": mx.sigmoid}}
