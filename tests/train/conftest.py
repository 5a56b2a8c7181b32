"""One thread is enough for tensors this small."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
