"""JSON names of fields, as the source document writes them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_hookspecs import Fault, InvalidConfig, json_key

NAMES = [
    ("name", "name"),
    ("pod_if_name", "podIfName"),
    ("driver_name", "driverName"),
    ("vendor_ids", "vendorIDs"),
    ("device_ids", "deviceIDs"),
    ("pci_addrs", "pciAddrs"),
    ("if_names", "ifNames"),
    ("parent_if_names", "parentIfNames"),
    ("interface_sysctl_ipv4", "interfaceSysctlIPv4"),
    ("interface_sysctl_ipv6", "interfaceSysctlIPv6"),
    ("device_manager_configs", "deviceManagerConfigs"),
    ("dra_registration_retry_interval", "draRegistrationRetryInterval"),
    ("dra_registration_max_attempts", "draRegistrationMaxAttempts"),
]


@pytest.mark.parametrize(("field", "key"), NAMES)
def test_a_field_has_the_name_of_the_source_document(field: str, key: str) -> None:
    assert json_key(field) == key


WORDS = st.lists(st.from_regex(r"[a-z][a-z0-9]*", fullmatch=True), min_size=1, max_size=4)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(WORDS)
def test_a_key_has_the_letters_of_its_field_and_no_underscore(words: list[str]) -> None:
    key = json_key("_".join(words))
    assert key.lower() == "".join(words)
    assert key[0].islower()


def test_all_faults_of_a_configuration_are_in_its_message_with_their_paths() -> None:
    error = InvalidConfig([Fault("routes[0].gateway", "is no address"), Fault("", "is empty")])
    assert str(error) == "routes[0].gateway: is no address; is empty"
    assert isinstance(error, ValueError)
    assert InvalidConfig.at("mtu", "is too small").faults == (Fault("mtu", "is too small"),)
