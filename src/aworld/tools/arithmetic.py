"""A calculator for models: arithmetic and nothing else, in bounded time and memory."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from aworld.errors import ToolError
from aworld.tools.base import tool

LONGEST_EXPRESSION = 2_000
MOST_BITS = 4_096  # of a whole number: about 1,200 digits

Number = int | float


@tool(timeout=10)
def calculator(expression: str) -> str:
    """Computes an arithmetic expression, such as "(3 + 4) * sqrt(2) ** 3 - 10 % 4".

    Args:
        expression: Numbers, + - * / // % **, parentheses, the constants pi and e, and the functions
            sqrt, abs, round, min, max, floor, ceil, log, log2, log10, exp, sin, cos, tan.
    """
    return _shown(evaluate(expression))


def evaluate(expression: str) -> Number:
    """The value, an int where the arithmetic is exact. ToolError says what is wrong."""
    if len(expression) > LONGEST_EXPRESSION:
        raise ToolError(f"the expression is longer than {LONGEST_EXPRESSION} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ToolError(f"this is no arithmetic expression: {_reason(error)}") from None
    try:
        return _value(tree.body)
    except ZeroDivisionError:
        raise ToolError("division by zero") from None
    except OverflowError:
        raise ToolError("the result is too large") from None
    except RecursionError:
        raise ToolError("the expression is nested too deeply") from None
    except ValueError as error:  # sqrt(-1), log(0)
        raise ToolError(f"this has no value: {error}") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return _bounded(OPERATORS[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return _applied(name, [_value(arg) for arg in args])
    shown = ast.unparse(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        raise ToolError("^ is not known here: write ** for powers")
    known = ", ".join(sorted([*FUNCTIONS, *CONSTANTS]))
    raise ToolError(f"{shown!r:.100} is not known here; known: + - * / // % **, {known}")


def _applied(name: str, args: list[Number]) -> Number:
    try:
        return _bounded(FUNCTIONS[name](*args))
    except TypeError:
        raise ToolError(f"{name} does not take {len(args)} numbers like these") from None


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int):
        # Before it is computed: 9 ** 9 ** 9 would take all memory.
        if exponent > 0 and (base.bit_length() - 1) * exponent > MOST_BITS:
            raise OverflowError
        if exponent < 0:
            return float(base) ** exponent
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a fractional power of a negative number")
    return result


def _bounded(number: Any) -> Number:
    if (isinstance(number, int) and number.bit_length() > MOST_BITS) or number in INFINITE:
        raise OverflowError
    return number


def _rounded(number: Number, digits: int | None = None) -> Number:
    # Python would compute 10 ** 99999999 to find out that nothing is left.
    return round(number, None if digits is None else max(-400, min(digits, 400)))


def _shown(number: Number) -> str:
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return str(number)


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} at character {error.offset}"
    return str(error) or "it is nested too deeply"


INFINITE = (math.inf, -math.inf)
CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e}
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "cos": math.cos,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": _rounded,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
}
