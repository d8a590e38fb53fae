#!/usr/bin/env python3
"""Write the generated parts of ``docs/*.md``: hooks from their docstrings, states from their tables, and whole files.

A part stands between ``<!-- generated: <name or path> -->`` and ``<!-- end -->``. ``python tools/docs.py``
writes the parts anew; with ``--check`` nothing is written, and the exit code is 1 if a page differs.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import dragoman_hookspecs
from dragoman.model import states
from dragoman_hookspecs import allocations, descriptors, devices, hooks, requests, results

WORKSPACE = Path(__file__).resolve().parent.parent
FOLDER = WORKSPACE / "docs"
_PART = re.compile(r"(<!-- generated: (?P<name>[\w./-]+) -->\n)(?P<text>.*?)(<!-- end -->\n)", re.DOTALL)
_QUESTIONS = ("When", "How often", "May already be true", "Never", "Raises")
Transitions = Mapping[Any, frozenset[Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; give its exit code."""
    parser = argparse.ArgumentParser(description="write the generated parts of the documentation")
    parser.add_argument("--check", action="store_true", help="compare with what is there and write nothing")
    options = parser.parse_args(arguments)
    stale = [
        page for page in sorted(FOLDER.glob("*.md")) if renewed(page.read_text("utf-8")) != page.read_text("utf-8")
    ]
    for page in stale:
        sys.stdout.write(f"{'differs' if options.check else 'written'}: docs/{page.name}\n")
        if not options.check:
            page.write_text(renewed(page.read_text("utf-8")), "utf-8")
    return 1 if options.check and stale else 0


def renewed(page: str) -> str:
    """Give a page with its generated parts made anew."""
    return _PART.sub(lambda part: f"{part[1]}\n{content(part['name'])}\n{part[4]}", page)


def content(name: str) -> str:
    """Make one part: one of ``PARTS``, or a file of the workspace as a code block."""
    if name in PARTS:
        return PARTS[name]()
    path = WORKSPACE / name
    return f"```{path.suffix.removeprefix('.').replace('py', 'python')}\n{path.read_text('utf-8')}```\n"


def hook_chapters() -> str:
    """Describe each hook in the order of its module."""
    return "\n".join(chapter(hook) for hook in specs())


def specs() -> Iterator[FunctionType]:
    """Give the hook specifications in the order of their module."""
    for member in vars(hooks).values():
        if inspect.isfunction(member) and hasattr(member, f"{hooks.PROJECT}_spec"):
            yield member


def chapter(hook: FunctionType) -> str:
    """Describe one hook: signature, what it does, the five answers, its request."""
    signature = inspect.signature(hook)
    result = str(signature.return_annotation).replace("req.", "")
    arguments = ", ".join(
        f"{each.name}: {str(each.annotation).replace('req.', '')}" for each in signature.parameters.values()
    )
    purpose, answers = answers_of(inspect.getdoc(hook) or "")
    lines = [
        f"### `{hook.__name__}`\n",
        "```python",
        f"def {hook.__name__}(self{', ' * bool(arguments)}{arguments}) -> {result}",
        "```\n",
    ]
    lines += [f"{purpose}\n", *(f"- *{question}*: {answer}" for question, answer in answers), ""]
    for each in signature.parameters.values():
        lines += request(getattr(requests, str(each.annotation).removeprefix("req.")))
    return "\n".join(lines)


def answers_of(docstring: str) -> tuple[str, list[tuple[str, str]]]:
    """Split a docstring into its purpose and the answers to the five questions."""
    pattern = re.compile(rf"^({'|'.join(_QUESTIONS)}): ", re.MULTILINE)
    purpose, *rest = pattern.split(docstring)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return one_line(purpose), [(question, one_line(answer)) for question, answer in pairs]


def request(kind: type) -> list[str]:
    """Describe the class of a request."""
    fields = ", ".join(f"`{field.name}: {field.type}{default(field)}`" for field in dataclasses.fields(kind))
    return [f"`{kind.__name__}` has {fields}. {one_line(inspect.getdoc(kind) or '')}", ""]


def default(field: dataclasses.Field[Any]) -> str:
    """Write the default of a field, if it has one; ``…`` where it is not short."""
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return ""
    value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return f" = {value!r}" if value in (None, {}) or isinstance(value, str | int | float | tuple) else " = …"


def values() -> str:
    """Describe what hooks take and give beside their requests."""
    kinds = [kind for module in (descriptors, devices, allocations, results) for kind in vars(module).values()]
    own = [kind for kind in [*kinds, requests.MetadataClaim, requests.MetadataDevice] if is_value(kind)]
    return "\n".join(f"- {' '.join(request(kind)).strip()}" for kind in dict.fromkeys(own)) + "\n"


def is_value(kind: object) -> bool:
    """Tell whether it is a dataclass that plugins import from the top of the package."""
    public = isinstance(kind, type) and kind.__name__ in dragoman_hookspecs.__all__
    return public and dataclasses.is_dataclass(kind) and bool(dataclasses.fields(kind))


def one_line(text: str) -> str:
    """Join the lines of a paragraph; reST literals become Markdown code."""
    return " ".join(text.split()).replace("``", "`")


def machine(kind: type[enum.StrEnum], transitions: Transitions) -> str:
    """Draw a transition table and list what each state means."""
    arrows = [f"    {node(old)} --> {node(new)}" for old, news in transitions.items() for new in sorted(news, key=node)]
    meanings = [
        f"| `{name}` | {meaning} | {successors(transitions[kind(name)])} |" for name, meaning in meanings_of(kind)
    ]
    head = ["| state | meaning on disk | next |", "|---|---|---|"]
    return "\n".join(["```mermaid", "stateDiagram-v2", *arrows, "```\n", *head, *meanings, ""])


def node(state: enum.StrEnum | None) -> str:
    """Give the name of a state in the diagram; no row is both the beginning and the end."""
    return "[*]" if state is None else state.value


def successors(states_: frozenset[enum.StrEnum | None]) -> str:
    """Name the states that may follow."""
    return ", ".join(sorted(f"`{state}`" if state else "row deleted" for state in states_))


def meanings_of(kind: type[enum.StrEnum]) -> Iterator[tuple[str, str]]:
    """Read the docstrings that follow the members of an enumeration."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    for member, text in zip(definition.body, definition.body[1:], strict=False):
        match member, text:
            case ast.Assign(value=ast.Constant(value=str(name))), ast.Expr(value=ast.Constant(value=str(meaning))):
                yield name, one_line(meaning)


PARTS: Mapping[str, Callable[[], str]] = {
    "hooks": hook_chapters,
    "values": values,
    "allocations": lambda: machine(states.AllocationState, states.ALLOCATION_TRANSITIONS),
    "attachments": lambda: machine(states.AttachmentState, states.ATTACHMENT_TRANSITIONS),
}


if __name__ == "__main__":
    raise SystemExit(main())
