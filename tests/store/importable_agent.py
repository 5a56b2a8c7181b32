"""An agent that a resumed run can import by its name."""


async def shout(word: str) -> str:
    return f"{word.upper()}!"
