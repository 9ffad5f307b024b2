"""Logic on boolean tensors."""

from __future__ import annotations

import torch

logical_and = torch.logical_and
logical_not = torch.logical_not
logical_or = torch.logical_or
logical_xor = torch.logical_xor
