"""Makes modules that the tests of the kernel language share importable, such as ``cases``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
