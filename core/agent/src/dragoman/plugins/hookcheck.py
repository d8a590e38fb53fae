"""Checks the hooks of one plugin before anything calls them: names, kinds, parameters, and that none waits.

pluggy finds some of these faults, and only for some plugins at some time; here every one is found at load and told in
one sentence with the right spelling.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dragoman_hookspecs import PROJECT, Commands, Controller, Descriptor, DeviceManager, Writer
from dragoman_hookspecs import hooks as specs

_MARK = f"{PROJECT}_impl"
SPECS: Mapping[str, Callable[..., Any]] = {
    name: spec for name, spec in vars(specs).items() if hasattr(spec, f"{PROJECT}_spec")
}
"""All hooks of the API, in the order of the module that specifies them."""

_COMMON = frozenset({"start", "stop", "apply_settings", "register_commands"})
_WRITER = frozenset({"write_metadata", "remove_metadata"})
_CONTROLLER = frozenset({"run_controller"})

KINDS: Mapping[type[Descriptor], str] = {
    DeviceManager: "manager",
    Writer: "writer",
    Controller: "controller",
    Commands: "commands",
}
ALLOWED: Mapping[str, frozenset[str]] = {
    "manager": frozenset(SPECS) - _WRITER - _CONTROLLER,
    "writer": _COMMON | _WRITER,
    "controller": _COMMON | _CONTROLLER,
    "commands": _COMMON,
}
REQUIRED: Mapping[str, frozenset[str]] = {
    "manager": frozenset({"discover_devices", "setup_device", "free_device", "recover_devices"}),
    "writer": _WRITER,
    "controller": _CONTROLLER,
    "commands": frozenset({"register_commands"}),
}
_TOGETHER = frozenset({"attach_device", "detach_device"})


def hook_faults(plugin: object, kind: str) -> Sequence[str]:
    """Give everything that is wrong with the hooks of a plugin object, in sentences; nothing if it may be called."""
    marked = dict(_marked(plugin))
    hooks = {name for name in marked if name in SPECS}
    faults = [fault for name, method in marked.items() for fault in _method_faults(name, method, kind)]
    faults += [
        f"has a method {name} that is not marked @hookimpl: mark it, or give it another name"
        for name in SPECS
        if name not in marked and inspect.isroutine(inspect.getattr_static(plugin, name, None))
    ]
    if missing := sorted(REQUIRED[kind] - hooks):
        faults.append(f"lacks {', '.join(missing)}, which a {kind} must have")
    if hooks & _TOGETHER and not hooks >= _TOGETHER:
        faults.append(f"has {', '.join(hooks & _TOGETHER)} without {', '.join(_TOGETHER - hooks)}")
    return faults


def implemented(plugin: object) -> tuple[str, ...]:
    """List the hooks of a checked plugin, in the order of the specification."""
    marked = dict(_marked(plugin))
    return tuple(name for name in SPECS if name in marked)


def _marked(plugin: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Find the marked methods without running properties: those are code of the plugin."""
    for name in dir(plugin):
        static = inspect.getattr_static(plugin, name, None)
        if hasattr(getattr(static, "__func__", static), _MARK):
            yield name, getattr(plugin, name)


def _method_faults(name: str, method: Callable[..., Any], kind: str) -> Iterator[str]:
    options = getattr(method, _MARK)
    if name not in SPECS:
        close = difflib.get_close_matches(name, SPECS, n=1)
        yield f"has a hook {name}, which does not exist" + (f": did you mean {close[0]}?" if close else "")
        return
    if name not in ALLOWED[kind]:
        yield f"has the hook {name}, which is not one of a {kind}"
    if options.get("wrapper") or options.get("hookwrapper"):
        yield f"has a wrapper of {name}: a hook is a plain function"
    if options.get("specname") not in {None, name}:
        yield f"gives {name} the name {options['specname']}: name the method after the hook"
    if _waits(method):
        yield f"has {name} as an async function or a generator: hooks are plain functions that may block"
    wanted, found = list(inspect.signature(SPECS[name]).parameters), _parameters(method)
    if wanted != found:
        yield f"has {name}({', '.join(found)}) where the hook is {name}({', '.join(wanted)})"


def _waits(method: Callable[..., Any]) -> bool:
    function = inspect.unwrap(method)
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
    return any(is_kind(form) for is_kind in kinds for form in (method, function))


def _parameters(method: Callable[..., Any]) -> list[str]:
    """Write the parameters as pluggy sees them: it never fills in those that have a default, ``*`` or ``**``."""
    positional = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    parameters = inspect.signature(method).parameters.values()
    return [p.name if p.kind in positional and p.default is p.empty else str(p) for p in parameters]
