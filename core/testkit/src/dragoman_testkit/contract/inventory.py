"""What is declared, and what the scans say."""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman_hookspecs import COMMON_PARAMETERS, Record, hooks
from dragoman_hookspecs.rules import dns_label
from dragoman_testkit.bench import Bench, host_links
from dragoman_testkit.contract.base import Ground

REQUIRED = ("discover_devices", "setup_device", "free_device", "recover_devices")
FILTER_FIELDS = frozenset({"ifNames", "pfNames", "parentIfNames", "pciAddrs", "vendorIDs", "deviceIDs", "drivers"})


class Inventories(Ground):
    """The descriptor, the hooks and the devices."""

    def test_the_descriptor_can_be_used(self) -> None:
        assert self.descriptor.type
        assert self.descriptor.settings_key
        assert self.descriptor.applies <= COMMON_PARAMETERS | {"vlan"}
        for schema in filter(None, (self.descriptor.settings, self.descriptor.parameters)):
            declared: Any = getattr(schema, "__dataclass_params__", None)
            assert declared, f"{schema.__name__} is no dataclass"
            assert declared.frozen, f"{schema.__name__} can be changed"

    def test_the_manager_has_the_type_of_its_descriptor(self, bench: Bench) -> None:
        type_ = getattr(bench.manager, "type", self.descriptor.type)
        assert type_ == self.descriptor.type, "by their type the links of two managers are told apart"

    def test_every_hook_is_marked_and_plain_and_the_required_ones_exist(self, bench: Bench) -> None:
        known = {name for name in vars(hooks) if hasattr(getattr(hooks, name), f"{hooks.PROJECT}_spec")}
        marked = {name for name in dir(bench.manager) if hasattr(getattr(bench.manager, name), f"{hooks.PROJECT}_impl")}
        assert set(REQUIRED) <= marked
        assert marked <= known
        assert {name for name in known if bench.has(name)} == marked, "a hook that is not marked is never called"

    def test_devices_have_names_identities_and_attributes_that_can_be_published(self, bench: Bench) -> None:
        devices = bench.scan().devices
        assert devices, "the settings of this test give no device"
        assert len({device.name for device in devices}) == len(devices)
        for device in devices:
            assert dns_label(device.name) is None
            assert device.identity
            assert not {"pool", "deviceManager"} & set(device.attributes), "core owns these attributes"
            assert set(device.filter_values) <= FILTER_FIELDS
            assert device.capacity or not device.allow_multiple_allocations

    def test_two_scans_of_the_same_host_give_the_same_and_change_nothing(self, bench: Bench) -> None:
        before = host_links()
        assert bench.scan() == bench.scan()
        assert host_links() == before

    def test_the_next_life_sees_the_same_devices(self, bench: Bench, tmp_path: Path) -> None:
        assert self.life(tmp_path).scan() == bench.scan()

    def test_a_device_keeps_its_name_and_identity_while_it_is_prepared(self, bench: Bench, prepared: Record) -> None:
        device = prepared.allocation.device
        later = {other.name: other.identity for other in bench.scan().devices}
        assert later.get(device.name, device.identity) == device.identity
