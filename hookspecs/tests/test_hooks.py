"""The contracts themselves: every hook answers the same questions, in the same order, and takes one frozen request."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import pluggy
import pytest

import dragoman_hookspecs as api
from dragoman_hookspecs import hooks, requests

SPECS: dict[str, Callable[..., Any]] = {
    name: value for name, value in vars(hooks).items() if hasattr(value, f"{api.PROJECT}_spec")
}
QUESTIONS = ["When:", "How often:", "May already be true:", "Never:", "Raises:"]
REQUESTS = {"device_metadata": "DescribeDevice", "container_edits": "DescribeDevice"}
"""Hooks whose request is not named after them."""


def request_of(name: str) -> str:
    return REQUESTS.get(name) or "".join(word.capitalize() for word in name.split("_"))


@pytest.mark.parametrize("name", SPECS)
def test_a_hook_answers_every_question_in_order(name: str) -> None:
    summary, _, answers = (inspect.getdoc(SPECS[name]) or "").partition("\n\n")
    assert summary.endswith(".")
    assert re.findall(r"^[A-Z][a-z ]+:", answers, re.MULTILINE) == QUESTIONS


@pytest.mark.parametrize("name", SPECS)
def test_a_hook_is_a_plain_function_with_one_frozen_request_or_none(name: str) -> None:
    spec = SPECS[name]
    assert not inspect.iscoroutinefunction(spec)
    parameters = list(inspect.signature(spec).parameters.values())
    assert len(parameters) <= 1
    for parameter in parameters:
        assert parameter.name == "request"
        assert parameter.annotation == f"req.{request_of(name)}"
        assert getattr(requests, request_of(name)).__dataclass_params__.frozen


def test_no_hook_takes_the_first_result_or_remembers_calls() -> None:
    for name, spec in SPECS.items():
        options = getattr(spec, f"{api.PROJECT}_spec")
        assert (options["firstresult"], options["historic"]) == (False, False), name


def test_pluggy_takes_all_hooks() -> None:
    manager = pluggy.PluginManager(api.PROJECT)
    manager.add_hookspecs(hooks)
    assert all(hasattr(manager.hook, name) for name in SPECS)


def test_every_request_belongs_to_a_hook() -> None:
    named = {name for name, value in vars(requests).items() if dataclasses.is_dataclass(value)}
    own = {name for name in named if vars(requests)[name].__module__ == requests.__name__}
    assert own - {"MetadataClaim", "MetadataDevice"} == {
        request_of(name) for name, spec in SPECS.items() if inspect.signature(spec).parameters
    }


def test_everything_that_is_exported_exists_and_everything_public_is_exported() -> None:
    public = {
        name
        for name, value in vars(api).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert set(api.__all__) == public
    assert all(request_of(name) in api.__all__ for name, spec in SPECS.items() if inspect.signature(spec).parameters)


@pytest.mark.parametrize("cls", [value for value in vars(api).values() if dataclasses.is_dataclass(value)])
def test_every_value_type_is_frozen_and_documented(cls: Any) -> None:
    assert cls.__dataclass_params__.frozen
    assert (cls.__doc__ or "").strip()
    assert not cls.__doc__.startswith(f"{cls.__name__}(")
