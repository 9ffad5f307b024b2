"""Makes what the tests of the kernel language share importable: ``cases`` and ``refused``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
