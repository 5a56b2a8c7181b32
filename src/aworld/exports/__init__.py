"""Recorded runs as files that other tools load, and such files as recorded runs."""

from aworld.exports.exporting import Exported, export
from aworld.exports.importing import Imported, import_messages

__all__ = ["Exported", "Imported", "export", "import_messages"]
