"""Keeps the progress bars of Hugging Face out of our own display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Afterwards they are as they were. What HF_HUB_DISABLE_PROGRESS_BARS says is left at that."""
    from huggingface_hub import constants
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
    from transformers.utils import logging

    if constants.HF_HUB_DISABLE_PROGRESS_BARS is not None or not logging.is_progress_bar_enabled():
        yield
        return
    were_off_for_downloads = are_progress_bars_disabled()  # the switch below is for both
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()
        if were_off_for_downloads:
            disable_progress_bars()
