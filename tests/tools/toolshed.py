"""Tools at the top level of a module, as users define them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aworld.tools import tool


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclass
class Weather:
    city: str
    degrees: float


@tool
def forecast(city: str, unit: Unit = Unit.CELSIUS) -> Weather:
    """Says how the weather will be."""
    return Weather(city, 20.5 if unit is Unit.CELSIUS else 68.9)


@tool(name="double", timeout=5)
async def twice(number: int) -> int:
    return 2 * number


def plain(number: int) -> int:
    """Stays a function here."""
    return number + 1


class Shelf:
    def __init__(self, books: list[str]):
        self.books = books

    def find(self, start: str) -> list[str]:
        """Finds books."""
        return [book for book in self.books if book.startswith(start)]
