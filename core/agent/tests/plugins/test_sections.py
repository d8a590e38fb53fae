"""The settings of plugins: what a section may hold, and what becomes of a plugin whose section is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.plugins import PluginState, Sections, StartupRefused, load

SIZED = """
@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    count: int = 2
    vendor_ids: frozenset[str] = frozenset()
    def __post_init__(self):
        if self.count > 100:
            raise InvalidConfig.at("count", "must be at most 100")

plugin = DeviceManager(type="sized", settings_key="sizedKey", settings=Size, create=Manager{more})
"""


def loaded(site: Any, context: Any, section: object, more: str = "") -> Any:
    site.install("dragoman-sized", SIZED.format(more=more))
    return load(site.entry_points(), Sections(managers={"sizedKey": section}), context=context)


@pytest.mark.parametrize("section", [None, {}, {"enabled": True}])
def test_an_empty_section_is_the_defaults(section: object, site: Any, context: Any) -> None:
    (plugin,) = loaded(site, context, section)
    assert (plugin.settings.count, plugin.enabled, plugin.status.state) == (2, True, PluginState.LOADED)


def test_a_section_becomes_the_settings_object_that_create_gets(site: Any, context: Any) -> None:
    (plugin,) = loaded(site, context, {"count": 7, "vendorIDs": ["15b3"]})
    assert (plugin.settings.count, plugin.settings.vendor_ids) == (7, {"15b3"})


def test_a_plugin_that_is_turned_off_is_made_all_the_same(site: Any, context: Any) -> None:
    (plugin,) = loaded(site, context, {"enabled": False, "count": 7})
    assert (plugin.settings.count, plugin.enabled, plugin.status.state) == (7, False, PluginState.DISABLED)
    assert plugin.status.reason == "deviceManagerConfigs.sizedKey.enabled is false: only what is prepared is served"


WRONG = {
    "unknown key": ({"counts": 1}, "deviceManagerConfigs.sizedKey.counts: is not a known key; did you mean count?"),
    "wrong type": ({"count": "3"}, 'deviceManagerConfigs.sizedKey.count: must be a whole number, not "3"'),
    "element": ({"vendorIDs": ["a", 1]}, "deviceManagerConfigs.sizedKey.vendorIDs[1]: must be text, not 1"),
    "the plugin's own check": ({"count": 101}, "deviceManagerConfigs.sizedKey.count: must be at most 100"),
    "enabled": ({"enabled": "no"}, "deviceManagerConfigs.sizedKey.enabled: must be true or false"),
    "no object": ([], "deviceManagerConfigs.sizedKey: must be an object, not a list"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_plugin_with_a_wrong_section_is_left_out_with_the_path_of_the_fault(
    fault: str, site: Any, context: Any
) -> None:
    section, reason = WRONG[fault]
    site.install("dragoman-good", 'plugin = DeviceManager(type="good", settings_key="good", create=Manager)')
    plugins = loaded(site, context, section)
    good, sized = plugins.statuses
    assert good.state is PluginState.LOADED
    assert (sized.state, sized.reason) == (PluginState.INVALID_SETTINGS, reason)


def test_a_plugin_with_strict_settings_stops_the_start_in_one_line(site: Any, context: Any) -> None:
    with pytest.raises(StartupRefused) as caught:
        loaded(site, context, {"count": 101}, ", strict_settings=True")
    assert str(caught.value) == (
        "start refused: plugin sized of dragoman-sized 1.0: deviceManagerConfigs.sizedKey.count: must be at most 100"
    )


def test_two_plugins_that_share_a_wrong_section_are_both_loaded_when_it_is_good(site: Any, context: Any) -> None:
    source = """
        @dataclass(frozen=True)
        class Size:
            count: int = 2
        class Files:
            def __init__(self, context, settings):
                pass
            @hookimpl
            def write_metadata(self, request):
                return WrittenMetadata()
            @hookimpl
            def remove_metadata(self, request):
                return None
        plugin = tuple(Writer(settings_key="files", settings=Size, create=Files) for _ in range(2))
    """
    site.install("dragoman-files", source)
    plugins = load(site.entry_points(), Sections(others={"files": {"count": "1"}}), context=context)
    assert [status.state for status in plugins.statuses] == [PluginState.INVALID_SETTINGS] * 2
    assert plugins.revive(Sections(others={"files": {"count": "2"}})) == []
    assert len(plugins.revive(Sections(others={"files": {"count": 1}}))) == 2
    assert [status.state for status in plugins.statuses] == [PluginState.LOADED] * 2
    assert plugins.revive(Sections()) == []


def test_a_settings_check_of_the_plugin_that_breaks_is_a_fault_of_the_plugin(site: Any, context: Any) -> None:
    source = """
        @dataclass(frozen=True)
        class Broken:
            def __post_init__(self):
                raise SystemExit(1)
        plugin = DeviceManager(type="broken", settings_key="broken", settings=Broken, create=Manager)
    """
    site.install("dragoman-broken", source)
    (status,) = load(site.entry_points(), context=context).statuses
    assert status.state is PluginState.INVALID_SETTINGS
    assert status.reason == "deviceManagerConfigs.broken: a check of Broken broke: SystemExit: 1"


def test_a_section_without_a_plugin_is_not_available_and_no_error(site: Any, context: Any) -> None:
    sections = Sections(managers={"sriov": {"anything": [1]}}, others={"explain": {}})
    first, second = load(site.entry_points(), sections, context=context).statuses
    assert (first.state, first.settings_key) == (PluginState.NOT_AVAILABLE, "sriov")
    assert "deviceManagerConfigs.sriov is set" in first.reason
    assert (second.state, second.settings_key) == (PluginState.NOT_AVAILABLE, "explain")


def test_the_same_key_of_a_manager_and_of_another_plugin_are_two_sections(site: Any, context: Any) -> None:
    source = """
        class Files:
            def __init__(self, context, settings): pass
            @hookimpl
            def write_metadata(self, request): return WrittenMetadata()
            @hookimpl
            def remove_metadata(self, request): return None
        plugin = (
            DeviceManager(type="both", settings_key="both", create=Manager),
            Writer(settings_key="both", create=Files),
        )
    """
    site.install("dragoman-both", source)
    sections = Sections(managers={"both": {"enabled": False}})
    statuses = load(site.entry_points(), sections, context=context).statuses
    assert [status.state for status in statuses] == [PluginState.DISABLED, PluginState.LOADED]
