"""What the tests of this folder share: a device and short ways to ask about it."""

from __future__ import annotations

from typing import Final

from dragoman_allocator.cel import CompileError, Environment, EvaluationError
from dragoman_allocator.objects import Attribute, Capacity, Device

DRIVER: Final = "dra.example.com"
STORED: Final = Environment()
DEVICE: Final = Device(
    attributes={
        "i": Attribute(int_=3),
        "b": Attribute(bool_=True),
        "s": Attribute(string="abc-1"),
        "v": Attribute(version="1.2.3+b"),
        "is": Attribute(ints=[1, 2, 3]),
        "bs": Attribute(bools=[True, False]),
        "ss": Attribute(strings=["a", "b"]),
        "vs": Attribute(versions=["1.0.0", "2.0.0"]),
        "other.example.com/name": Attribute(bool_=True),
        "other.example.com/size": Attribute(int_=42),
    },
    capacity={"mem": Capacity(value="1Gi"), "other.example.com/cores": Capacity(value="1500m")},
    allow_multiple_allocations=True,
)


def verdict(expression: str, device: Device = DEVICE, environment: Environment = STORED) -> bool | str:
    """Give what a selector says: its result, or ``compile: …`` or ``run: …`` with the error."""
    full = expression.replace("D]", f'"{DRIVER}"]')
    try:
        return environment.compile(full).evaluate(DRIVER, device)
    except CompileError as error:
        return f"compile: {error}"
    except EvaluationError as error:
        return f"run: {error}"


def derived(expression: str, device: Device = DEVICE, environment: Environment = STORED) -> Attribute | str:
    """Give the derived attribute of an expression, or its error."""
    full = expression.replace("D]", f'"{DRIVER}"]')
    try:
        return environment.compile(full, derived=True).derive(DRIVER, device)
    except (CompileError, EvaluationError) as error:
        return str(error)
