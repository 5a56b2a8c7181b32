"""Who does the work in a task."""

from aworld.agents.echo import EchoAgent

__all__ = ["EchoAgent"]
