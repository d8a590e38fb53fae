"""Strict reading of YAML: one meaning, errors with the line.

Values are what JSON would make of them: ``true``, ``null`` and decimal numbers. Everything else stays text: PyYAML's
own rules would read the PCI address ``0000:03:00.1`` as a number in base 60, ``on`` as true and ``2026-01-01`` as a
date.
Doubled keys, keys that are not text, aliases and tags that make objects are refused.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"
_SCALARS = {
    "null": (r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"-?(0|[1-9][0-9]*)", list("-0123456789")),
    "float": (r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", list("-0123456789")),
}


class YamlError(ValueError):
    """Text that is not the YAML we read; the message names the line, counted from 1."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with JSON's scalars. See the module docstring."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's way to configure a loader
    yaml_constructors = {  # noqa: RUF012 - as above
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.removeprefix(_TAG) in {"null", "bool", "int", "float", "str", "seq", "map"}
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse aliases: a few lines of them can stand for gigabytes."""
        if self.check_event(yaml.AliasEvent):
            alias: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it open
            raise _error("aliases are not supported", alias.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse keys that are doubled or not text; PyYAML would keep the last and say nothing."""
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if key.tag != f"{_TAG}str":
                raise _error("a key must be text; put it in quotes", key.start_mark)
            if key.value in lines:
                raise _error(f"key {key.value!r} stands in line {lines[key.value]} already", key.start_mark)
            lines[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


for _name, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(f"(?:{_pattern})$"), _first)


def parse(text: str | bytes) -> list[Any]:
    """Give the documents of a YAML stream as JSON values; an empty document is None. Raises ``YamlError``."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return list(yaml.load_all(text, Loader=_Loader))
    except UnicodeDecodeError as error:
        raise YamlError(f"is not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise YamlError("is nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        raise _error(error.problem or "is not YAML", error.problem_mark) from None
    except YamlError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        # PyYAML makes numbers of all their digits, and Python refuses to for more than 4,300.
        raise YamlError(" ".join(str(error).split())) from None


def _error(problem: str, mark: Any) -> YamlError:
    return YamlError(f"line {mark.line + 1}: {problem}" if mark else problem)
