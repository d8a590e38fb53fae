"""Device manager for macvlan links on configured parent interfaces."""

from __future__ import annotations

from dragoman_hookspecs import DeviceManager
from dragoman_macvlan.manager import Macvlan
from dragoman_macvlan.settings import MacvlanSettings

plugin = DeviceManager(type=Macvlan.type, settings_key="macvlan", settings=MacvlanSettings, create=Macvlan)
