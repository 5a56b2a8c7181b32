"""Seeds that depend on what is run, never on where or when."""

from __future__ import annotations

from hashlib import blake2b


def seed_for(run_seed: int, key: str, attempt: int) -> int:
    """32 bits, the most that every library takes as a seed."""
    text = f"{run_seed}/{attempt}/{key}".encode()
    return int.from_bytes(blake2b(text, digest_size=4).digest(), "big")
