"""Which plugins are loaded, and what is said of those that are not."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.plugins import PluginSet, PluginState, PluginStatus, Sections, StartupRefused, discover, load

GOOD = 'plugin = DeviceManager(type="{0}", settings_key="{0}", create=Manager)'
WRITER = """
class Files:
    def __init__(self, context, settings):
        self.settings = settings
    @hookimpl
    def write_metadata(self, request):
        return WrittenMetadata()
    @hookimpl
    def remove_metadata(self, request):
        return None
"""


HANGS = 5.0
"""Seconds after which a plugin is taken to hang: long enough for one that does not, on a slow machine."""


def manager(body: str, name: str = "bad") -> str:
    """Write a plugin whose manager class has ``body`` beside what every manager needs."""
    return f"class Bad(Manager):\n{body}\n\nplugin = DeviceManager(type='{name}', settings_key='{name}', create=Bad)\n"


@pytest.fixture
def loaded(site: Any, context: Any) -> Any:
    def run(sections: Sections | None = None, **options: Any) -> PluginSet:
        return load(site.entry_points(), sections, context=context, **options)

    return run


def status_of(plugins: PluginSet, name: str) -> PluginStatus:
    (found,) = [status for status in plugins.statuses if status.name == name]
    return found


def test_a_manager_is_loaded_with_all_that_its_status_tells(site: Any, loaded: Any) -> None:
    site.install("dragoman-good", GOOD.format("goodType"), version="2.5")
    assert loaded().statuses == (
        PluginStatus(
            name="good",
            state=PluginState.LOADED,
            distribution="dragoman-good",
            version="2.5",
            api="<0.2,>=0.1",
            kind="manager",
            type="goodType",
            settings_key="goodType",
            hooks=("discover_devices", "setup_device", "free_device", "recover_devices"),
        ),
    )


def test_plugins_are_loaded_in_the_order_of_their_entry_point_names(site: Any, loaded: Any) -> None:
    for name in ("zeta", "alpha", "midi"):
        site.install(f"dragoman-{name}", GOOD.format(name))
    assert [plugin.status.name for plugin in loaded()] == ["alpha", "midi", "zeta"]


IMPORT_FAULTS = {
    "missing dependency": ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_module"),
    "SystemExit": ("raise SystemExit(3)", "SystemExit: 3"),
    "SyntaxError": ("def broken(:\n    pass", "SyntaxError: invalid syntax"),
    "any BaseException": ("class Odd(BaseException): pass\nraise Odd('dear me')", "Odd: dear me"),
    "no such attribute": ("other = 1", "AttributeError"),
    "not a descriptor": ("plugin = {'type': 'dict'}", "names a dict, which is no descriptor (DeviceManager, Writer"),
    "a number": ("plugin = 3", "names an int, which is no descriptor"),
    "the class instead of a descriptor": ("plugin = Manager", "names a type, which is no descriptor"),
    "an empty tuple": ("plugin = ()", "empty tuple"),
}


@pytest.mark.parametrize("fault", IMPORT_FAULTS)
def test_a_plugin_that_cannot_be_imported_is_named_and_the_others_are_loaded(
    fault: str, site: Any, loaded: Any
) -> None:
    source, reason = IMPORT_FAULTS[fault]
    site.install("dragoman-bad", source)
    site.install("dragoman-after", GOOD.format("after"))
    site.install("dragoman-zlast", GOOD.format("zlast"))
    plugins = loaded()
    assert [plugin.status.name for plugin in plugins] == ["after", "zlast"]
    bad = status_of(plugins, "bad")
    assert (bad.state, bad.distribution) == (PluginState.FAILED, "dragoman-bad")
    assert reason in bad.reason


def test_an_import_that_never_returns_is_given_up(site: Any, loaded: Any) -> None:
    # A name of its own: the lock of that module stays held for the life of the process.
    site.install("dragoman-hung", "import threading\nthreading.Event().wait()\nplugin = None")
    site.install("dragoman-good", GOOD.format("good"))
    plugins = loaded(limit=HANGS)
    assert [plugin.status.name for plugin in plugins] == ["good"]
    assert status_of(plugins, "hung").reason == "import of dragoman_hung:plugin did not return within 5 s"


def test_keyboard_interrupt_is_no_fault_of_a_plugin(site: Any, loaded: Any) -> None:
    site.install("dragoman-bad", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        loaded()


API_FAULTS = {
    "not declared": ((), "does not say which dragoman-hookspecs it requires"),
    "only as an extra": (("dragoman-hookspecs; extra == 'test'",), "does not say which"),
    "newer": (("dragoman-hookspecs>=99",), "requires dragoman-hookspecs>=99, and"),
    "older": (("Dragoman_Hookspecs<0.1",), "requires dragoman-hookspecs<0.1, and"),
    "unreadable": (("dragoman-hookspecs>>1",), "cannot be read"),
}


@pytest.mark.parametrize("fault", API_FAULTS)
def test_a_plugin_for_another_api_is_not_even_imported(fault: str, site: Any, loaded: Any) -> None:
    requires, reason = API_FAULTS[fault]
    site.install("dragoman-bad", "import sys\nsys.was_imported = True", requires=requires)
    bad = status_of(loaded(), "bad")
    assert bad.state is PluginState.INCOMPATIBLE
    assert reason in bad.reason
    assert "dragoman-bad" in bad.reason
    import sys  # noqa: PLC0415  # the flag that the module would have set

    assert not hasattr(sys, "was_imported")


def test_discovery_tells_what_is_installed_without_importing_it(site: Any) -> None:
    site.install("dragoman-b", "raise RuntimeError", version="3")
    site.install("dragoman-a", "raise RuntimeError", requires=())
    found = discover(site.entry_points())
    assert [(status.name, status.version, status.state) for status in found] == [
        ("a", "1.0", PluginState.INCOMPATIBLE),
        ("b", "3", PluginState.FOUND),
    ]


CREATION_FAULTS = {
    "raises": ("raise OSError('no such card')", "create raised OSError: no such card"),
    "exits": ("raise SystemExit", "create raised SystemExit"),
    "hangs": ("import threading; threading.Event().wait()", "create did not return within"),
}


@pytest.mark.parametrize("fault", CREATION_FAULTS)
def test_a_plugin_that_cannot_be_created_is_named(fault: str, site: Any, loaded: Any) -> None:
    body, reason = CREATION_FAULTS[fault]
    site.install("dragoman-bad", manager(f"    def __init__(self, context, settings):\n        {body}"))
    site.install("dragoman-good", GOOD.format("good"))
    plugins = loaded(limit=HANGS)
    assert [plugin.status.name for plugin in plugins] == ["good"]
    assert status_of(plugins, "bad").state is PluginState.FAILED
    assert reason in status_of(plugins, "bad").reason


HOOK_FAULTS = {
    "misspelt": (
        "    @hookimpl\n    def plan_devices(self, request): return {}",
        "has a hook plan_devices, which does not exist: did you mean plan_device?",
    ),
    "unknown": ("    @hookimpl\n    def qqq(self): pass", "has a hook qqq, which does not exist"),
    "optional hook of pluggy": (
        "    @__import__('pluggy').HookimplMarker('dragoman')(optionalhook=True)\n    def qqq(self): pass",
        "has a hook qqq, which does not exist",
    ),
    "async": (
        "    @hookimpl\n    async def plan_device(self, request): return {}",
        "has plan_device as an async function or a generator",
    ),
    "generator": (
        "    @hookimpl\n    def plan_device(self, request): yield {}",
        "has plan_device as an async function or a generator",
    ),
    "parameter misspelt": (
        "    @hookimpl\n    def plan_device(self, reqest): return {}",
        "has plan_device(reqest) where the hook is plan_device(request)",
    ),
    "parameter missing": (
        "    @hookimpl\n    def plan_device(self): return {}",
        "has plan_device() where the hook is plan_device(request)",
    ),
    "parameter that pluggy would never fill": (
        "    @hookimpl\n    def plan_device(self, request=None): return {}",
        "has plan_device(request=None) where the hook is plan_device(request)",
    ),
    "wrapper": (
        "    @hookimpl(wrapper=True)\n    def plan_device(self, request): return (yield)",
        "has a wrapper of plan_device",
    ),
    "two methods for one hook": (
        "    @hookimpl(specname='plan_device')\n    def also_plan_device(self, request): return {}",
        "has a hook also_plan_device, which does not exist: did you mean plan_device?",
    ),
    "of another kind": (
        "    @hookimpl\n    def write_metadata(self, request): return None",
        "has the hook write_metadata, which is not one of a manager",
    ),
    "override without the mark": (
        "    def free_device(self, request): return None",
        "has a method free_device that is not marked @hookimpl",
    ),
    "no method": (
        "    plan_device = hookimpl(type('Hook', (), {'__call__': lambda self, request: {}})())",
        "plan_device is marked @hookimpl and is no method",
    ),
    "attach alone": (
        "    @hookimpl\n    def attach_device(self, request): return None",
        "has attach_device without detach_device",
    ),
}


@pytest.mark.parametrize("fault", HOOK_FAULTS)
def test_a_plugin_with_a_wrong_hook_is_refused_whole(fault: str, site: Any, loaded: Any) -> None:
    body, reason = HOOK_FAULTS[fault]
    site.install("dragoman-bad", manager(body))
    site.install("dragoman-good", GOOD.format("good"))
    plugins = loaded()
    assert [plugin.status.name for plugin in plugins] == ["good"]
    assert status_of(plugins, "bad").state is PluginState.FAILED
    assert reason in status_of(plugins, "bad").reason


def test_a_manager_without_the_hooks_of_a_manager_is_refused_and_they_are_named(site: Any, loaded: Any) -> None:
    source = "class Empty:\n    def __init__(self, context, settings): pass\n"
    site.install("dragoman-bad", source + 'plugin = DeviceManager(type="bad", settings_key="bad", create=Empty)')
    reason = status_of(loaded(), "bad").reason
    assert reason == "lacks discover_devices, free_device, recover_devices, setup_device, which a manager must have"


DESCRIPTOR_FAULTS = {
    "settings that are no dataclass": ("settings=dict", "settings: <class 'dict'> is not a dataclass"),
    "settings that JSON cannot hold": ("settings=Odd", "settings: the fields of"),
    "settings with the reserved key": ("settings=Taken", "settings has enabled, which core keeps for itself"),
    "parameters with a common name": ("parameters=Mtu", "parameters has mtu, which core keeps for itself"),
    "settings of a type that does not exist": ("settings=Misspelt", "from JSON: name 'ints' is not defined"),
    "parameters of a type that does not exist": ("parameters=Misspelt", "parameters: the fields of"),
    "common parameters that are no set": ("applies=None", "its descriptor cannot be used: TypeError"),
    "no threads": ("concurrent=0", "concurrent is 0"),
    "an unknown parameter": ("applies=frozenset({'MTU'})", "applies names MTU: known are addresses"),
}


@pytest.mark.parametrize("fault", DESCRIPTOR_FAULTS)
def test_a_descriptor_that_cannot_be_used_is_refused(fault: str, site: Any, loaded: Any) -> None:
    argument, reason = DESCRIPTOR_FAULTS[fault]
    source = f"""
        class Opaque: pass
        @dataclass(frozen=True)
        class Odd:
            thing: Opaque
        @dataclass(frozen=True)
        class Taken:
            enabled: bool = True
        @dataclass(frozen=True)
        class Mtu:
            mtu: int = 1
        @dataclass(frozen=True)
        class Misspelt:
            depth: "ints" = 1
        plugin = DeviceManager(type="bad", settings_key="bad", create=Manager, {argument})
    """
    site.install("dragoman-bad", source)
    assert status_of(loaded(), "bad").state is PluginState.FAILED
    assert reason in status_of(loaded(), "bad").reason


DUPLICATES = {
    "name": ({"same": "dragoman_bb:plugin"}, "b", "b", "the name same"),
    "type": ({"other": "dragoman_bb:plugin"}, "a", "b", "the device manager type a"),
    "settings key": ({"other": "dragoman_bb:plugin"}, "b", "a", "the settings section deviceManagerConfigs.a"),
    "object": ({"other": "dragoman_aa:plugin"}, "b", "b", "the object dragoman_aa:plugin"),
    "everything": ({"same": "dragoman_aa:plugin"}, "b", "b", "the name same"),
}


@pytest.mark.parametrize("what", DUPLICATES)
def test_what_stands_twice_is_refused_the_second_time_and_both_are_named(what: str, site: Any, loaded: Any) -> None:
    points, type_, key, reason = DUPLICATES[what]
    first = 'plugin = DeviceManager(type="a", settings_key="a", create=Manager)'
    site.install("dragoman-aa", first, entry_points={"same" if "same" in points else "aa": "dragoman_aa:plugin"})
    site.install(
        "dragoman-bb",
        f'plugin = DeviceManager(type="{type_}", settings_key="{key}", create=Manager)',
        entry_points=points,
    )
    plugins = loaded()
    assert [plugin.status.distribution for plugin in plugins] == ["dragoman-aa"]
    (second,) = [status for status in plugins.statuses if status.state is PluginState.DUPLICATE]
    assert second.distribution == "dragoman-bb"
    assert second.reason.startswith(reason)
    assert "dragoman-aa 1.0" in second.reason
    assert "dragoman-bb 1.0" in second.reason


def test_a_refused_second_plugin_keeps_no_name_from_a_third(site: Any, loaded: Any) -> None:
    site.install("dragoman-a", GOOD.format("a"))
    site.install("dragoman-b", 'plugin = DeviceManager(type="b", settings_key="a", create=Manager)')
    site.install("dragoman-c", 'plugin = DeviceManager(type="b", settings_key="c", create=Manager)')
    assert [plugin.status.name for plugin in loaded()] == ["a", "c"]


def test_an_entry_point_may_name_several_descriptors_that_share_a_section(site: Any, loaded: Any) -> None:
    source = f"""{WRITER}
class Adder:
    def __init__(self, context, settings): pass
    @hookimpl
    def register_commands(self, request): pass

plugin = (Writer(settings_key="files", create=Files), Commands(settings_key="files", create=Adder))
"""
    site.install("dragoman-files", source)
    assert [(status.kind, status.state) for status in loaded().statuses] == [
        ("writer", PluginState.LOADED),
        ("commands", PluginState.LOADED),
    ]


def test_one_bad_descriptor_of_several_leaves_the_others(site: Any, loaded: Any) -> None:
    site.install("dragoman-two", f"{WRITER}\nplugin = (42, Writer(settings_key='w', create=Files))")
    assert [status.state for status in loaded().statuses] == [PluginState.FAILED, PluginState.LOADED]


def test_an_entry_point_name_that_is_no_folder_name_is_refused(site: Any, loaded: Any) -> None:
    site.install("dragoman-bad", GOOD.format("bad"), entry_points={"../up": "dragoman_bad:plugin"})
    assert "must be letters" in status_of(loaded(), "../up").reason


def test_a_blocked_plugin_is_not_imported(site: Any, loaded: Any) -> None:
    site.install("dragoman-one", "raise RuntimeError('imported')")
    site.install("dragoman-two", "raise RuntimeError('imported')")
    plugins = loaded(blocked=["one", "Dragoman.Two"])
    assert [status.state for status in plugins.statuses] == [PluginState.BLOCKED, PluginState.BLOCKED]


def test_missing_required_plugins_refuse_the_start_in_one_line_with_every_reason(site: Any, loaded: Any) -> None:
    site.install("dragoman-bad", "raise ValueError('two\\nlines')")
    site.install("dragoman-good", GOOD.format("good"))
    site.install("dragoman-off", GOOD.format("off"))
    with pytest.raises(StartupRefused) as caught:
        loaded(Sections(managers={"off": {"enabled": False}}), required=["bad", "dragoman-good", "sriov", "off"])
    message = str(caught.value)
    assert "\n" not in message
    assert "plugin bad is required and not loaded" in message
    assert "raised ValueError: two lines" in message
    assert "plugin sriov is required and not installed" in message
    assert "plugin off is required and not loaded" in message
    assert "good" not in message
    assert [status.name for status in caught.value.statuses] == ["bad", "good", "off"]


def test_a_plugin_gets_a_folder_and_a_logger_of_its_own(site: Any, loaded: Any, tmp_path: Any) -> None:
    source = """
        class Noting(Manager):
            def __init__(self, context, settings):
                assert context.state_dir.is_dir()
                (context.state_dir / "seen").write_text(context.logger.name)
        plugin = DeviceManager(type="noting", settings_key="noting", create=Noting)
    """
    site.install("dragoman-noting", source)
    assert status_of(loaded(), "noting").state is PluginState.LOADED
    assert (tmp_path / "state/plugins/noting/seen").read_text() == "dragoman.plugin.noting"


def test_a_hook_is_answered_by_the_addressed_plugin_alone(site: Any, loaded: Any) -> None:
    for name in ("one", "two"):
        site.install(
            f"dragoman-{name}", manager(f"    @hookimpl\n    def plan_device(self, request): return '{name}'", name)
        )
    assert [plugin.call("plan_device", object()) for plugin in loaded()] == ["one", "two"]
