"""Makes the checkout's examples importable: ``examples.llama`` is a package, scripts are not."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))
