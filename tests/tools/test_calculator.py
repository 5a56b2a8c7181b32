"""The calculator computes what Python computes, and nothing that would hurt."""

from __future__ import annotations

import contextlib
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld.tools import ToolError, calculator
from aworld.tools.arithmetic import evaluate

numbers = st.integers(0, 1000).map(str) | st.floats(0, 1e6).map(repr)
builtins = {"abs": abs, "round": round, "min": min, "max": max}
names = {"sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil, "pi": math.pi, "e": math.e}


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda it: f"({it[0]} {it[1]} {it[2]})"),
        inner.map(lambda it: f"-{it}"),
        st.tuples(st.sampled_from(["abs", "sqrt", "floor", "ceil", "round"]), inner).map(
            lambda it: f"{it[0]}({it[1]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda it: f"{it[0]}({it[1]}, {it[2]})"
        ),
    )


expressions = st.recursive(numbers | st.sampled_from(["pi", "e"]), larger, max_leaves=6)


@given(expressions)
def test_it_computes_what_python_computes(expression):
    try:
        value = evaluate(expression)
    except ToolError:
        return  # Python itself might not come back from it
    expected = eval(expression, {"__builtins__": {}}, {**names, **builtins})
    assert value == expected or math.isclose(value, expected)
    assert isinstance(value, (int, float))


@given(st.text(alphabet="0123456789+-*/%().e, sqrtabminlog^xj_[]='\"", max_size=40))
def test_no_text_makes_it_do_anything_else(text):
    began = time.monotonic()
    with contextlib.suppress(ToolError):
        assert isinstance(evaluate(text), (int, float))
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("2 + 3 * 4", "14"),
        ("6 / 3", "2"),
        ("7 / 2", "3.5"),
        ("-7 // 2", "-4"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("round(2.567, 1)", "2.6"),
        ("max(1, 2, 3) - min(4, 5)", "-1"),
        ("sqrt(16) + floor(2.7) + ceil(2.1)", "9"),
        ("log(8, 2) + log10(100)", "5"),
        ("cos(0) + exp(0)", "2"),
        ("1e20", "1e+20"),
        ("round(2, -99999999)", "0"),
        ("  1 +\t1 ", "2"),
    ],
)
def test_results_are_short_where_they_are_exact(run, expression, text):
    result = run(calculator, expression=expression)
    assert (result.text, result.error) == (text, None)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("9 ** 9 ** 9", "the result is too large"),
        ("9999 ** 9999", "the result is too large"),
        ("1e308 * 10", "the result is too large"),
        ("10.0 ** 400", "the result is too large"),
        ("exp(1000)", "the result is too large"),
        ("1 / 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("sqrt(-1)", "this has no value"),
        ("(-8) ** 0.5", "a fractional power of a negative number"),
        ("2 ^ 3", "write ** for powers"),
        ("2 +", "this is no arithmetic expression: invalid syntax at character"),
        ("", "this is no arithmetic expression"),
        ("x + 1", "'x' is not known here"),
        ("__import__('os').system('ls')", "is not known here"),
        ("(1).__class__", "is not known here"),
        ("[1, 2]", "is not known here"),
        ("sqrt()", "sqrt does not take 0 numbers"),
        ("True + 1", "'True' is not known here"),
        ("-" * 1900 + "1", "nested too deeply"),
        ("1" * 3000, "longer than 2000 characters"),
    ],
)
def test_what_it_will_not_compute_is_explained(run, expression, told):
    result = run(calculator, expression=expression)
    assert told in result.text
    assert result.error.kind == "ToolError"
    assert result.seconds < 2
