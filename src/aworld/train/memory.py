"""Whether an error says that memory was short."""

from __future__ import annotations

import torch


def is_out_of_memory(error: BaseException) -> bool:
    said = str(error)
    known = (MemoryError, torch.OutOfMemoryError)
    return isinstance(error, known) or "out of memory" in said or "can't allocate memory" in said
