"""Where tasks come from: files, datasets, Python functions, puzzles and environments."""

from aworld.sources.loading import load_tasks

__all__ = ["load_tasks"]
