"""What the command line is shown."""

from __future__ import annotations

from dragoman.engine.inventory import Degraded
from dragoman.engine.views import plugin_views
from dragoman.plugins import PluginState, PluginStatus


def test_a_manager_that_cannot_be_scanned_is_degraded_and_says_why() -> None:
    loaded = PluginStatus(name="dummy", type="dummy", state=PluginState.LOADED)
    broken = PluginStatus(name="ports", type="bridge-port", state=PluginState.LOADED)
    disabled = PluginStatus(name="off", type="off", state=PluginState.DISABLED, reason="the settings turn it off")
    writer = PluginStatus(name="metadata", state=PluginState.LOADED)
    degraded = {kind: Degraded(reason=f"{kind} broke", since=0.0) for kind in ("bridge-port", "off")}
    views = plugin_views([loaded, broken, disabled, writer], degraded)
    assert [(view["name"], view["state"], view["reason"]) for view in views] == [
        ("dummy", "loaded", ""),
        ("ports", "degraded", "bridge-port broke"),
        ("off", "disabled", "the settings turn it off"),
        ("metadata", "loaded", ""),
    ]
