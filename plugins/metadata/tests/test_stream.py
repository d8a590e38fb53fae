import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_metadata import Device, DeviceMetadata, MalformedMetadata, NetworkData, Request, UnknownVersions, decode
from dragoman_metadata.stream import encode

DOCUMENT = {
    "kind": "DeviceMetadata",
    "apiVersion": "metadata.resource.k8s.io/v1beta1",
    "metadata": {"name": "c", "namespace": "lab", "uid": "u", "generation": 2},
    "podClaimName": "nics",
    "requests": [
        {
            "name": "uplink/fast",
            "devices": [
                {
                    "driver": "net.example.org",
                    "pool": "node-7",
                    "name": "vf-3",
                    "attributes": {"mtu": {"int": 9000}, "rdma": {"bool": True}},
                    "networkData": {
                        "interfaceName": "net1",
                        "ips": ["10.20.0.7/24"],
                        "hardwareAddress": "02:42:0a:14:00:07",
                    },
                }
            ],
        }
    ],
}
METADATA = DeviceMetadata(
    name="c",
    namespace="lab",
    uid="u",
    generation=2,
    pod_claim_name="nics",
    requests=(
        Request(
            name="uplink/fast",
            devices=(
                Device(
                    driver="net.example.org",
                    pool="node-7",
                    name="vf-3",
                    attributes={"mtu": {"int": 9000}, "rdma": {"bool": True}},
                    network_data=NetworkData(
                        interface_name="net1", ips=("10.20.0.7/24",), hardware_address="02:42:0a:14:00:07"
                    ),
                ),
            ),
        ),
    ),
)


def changed(**members: object) -> bytes:
    return json.dumps(DOCUMENT | members).encode()


def test_the_documented_example_is_read() -> None:
    assert decode(json.dumps(DOCUMENT).encode()) == METADATA


def test_the_stream_holds_the_same_document_for_each_version_in_order() -> None:
    text = encode(METADATA, ["v1beta1", "v1alpha1"]).decode()
    first, end = json.JSONDecoder().raw_decode(text)
    second, _ = json.JSONDecoder().raw_decode(text[end:].strip())
    assert first == DOCUMENT
    assert second == DOCUMENT | {"apiVersion": "metadata.resource.k8s.io/v1alpha1"}
    assert text.endswith("}\n")
    assert list(first)[:2] == ["kind", "apiVersion"]


def test_absent_values_are_left_out() -> None:
    (document,) = [json.loads(encode(DeviceMetadata(requests=(Request(name="r"),)), ["v1beta1"]))]
    assert document == {
        "kind": "DeviceMetadata",
        "apiVersion": "metadata.resource.k8s.io/v1beta1",
        "requests": [{"name": "r"}],
    }


def test_unknown_versions_are_skipped_whatever_their_shape() -> None:
    newer = b'{"apiVersion": "metadata.resource.k8s.io/v9", "kind": "Other", "requests": "none"}'
    assert decode(newer + json.dumps(DOCUMENT).encode()) == METADATA


def test_only_unknown_versions_is_an_error_that_lists_them() -> None:
    with pytest.raises(UnknownVersions, match=r"example\.org/v1, metadata\.resource\.k8s\.io/v9"):
        decode(
            b'{"apiVersion": "example.org/v1", "kind": "X"}{"apiVersion": "metadata.resource.k8s.io/v9", "kind": "X"}'
        )


def test_what_stands_behind_the_first_known_document_does_no_harm() -> None:
    assert decode(json.dumps(DOCUMENT).encode() + b"garbage \xc3\xa9 {") == METADATA


def test_the_order_of_the_stream_decides_not_the_age_of_the_version() -> None:
    older = changed(apiVersion="metadata.resource.k8s.io/v1alpha1", podClaimName="first")
    assert decode(older + changed(podClaimName="second")).pod_claim_name == "first"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b" \n\t ", "empty"),
        (json.dumps(DOCUMENT).encode()[:-20], "not JSON"),
        (b"[]", "no JSON object"),
        (b"3", "no JSON object"),
        (b'{"kind": "DeviceMetadata"}', "apiVersion"),
        (b'{"apiVersion": "metadata.resource.k8s.io/v1beta1"}', "kind"),
        (b'{"apiVersion": 1, "kind": "DeviceMetadata"}', "apiVersion"),
        (changed(kind="Pod"), "Pod"),
        (changed(requests={}), "requests"),
        (changed(requests=[1]), "requests"),
        (changed(podClaimName=7), "podClaimName"),
        (changed(metadata={"generation": "2"}), "generation"),
        (changed(metadata={"generation": True}), "generation"),
        (changed(requests=[{"name": "r", "devices": [{"networkData": {"ips": [1]}}]}]), "ips"),
        (changed(requests=[{"name": "r", "devices": [{"attributes": {"a": 1}}]}]), "attribute"),
        (b"\xff", "UTF-8"),
        (b"[" * 100000, "not JSON"),
    ],
)
def test_a_malformed_document_is_an_error_that_names_the_file(content: bytes, says: str) -> None:
    with pytest.raises(MalformedMetadata, match=says) as caught:
        decode(content, "/some/file")
    assert "/some/file" in str(caught.value)


def test_unknown_members_and_absent_ones_are_fine() -> None:
    content = b'{"apiVersion": "metadata.resource.k8s.io/v1beta1", "kind": "DeviceMetadata", "Metadata": 1, "new": []}'
    assert decode(content) == DeviceMetadata()


def test_decoding_does_not_validate() -> None:
    assert decode(changed(podClaimName="../../etc")).pod_claim_name == "../../etc"


TEXT = st.text(min_size=1, max_size=8)
DEVICES = st.builds(
    Device,
    driver=TEXT,
    pool=TEXT,
    name=TEXT,
    attributes=st.dictionaries(
        TEXT, st.one_of(st.builds(lambda v: {"int": v}, st.integers()), st.just({"bool": True}))
    ),
    network_data=st.none()
    | st.builds(NetworkData, interface_name=TEXT, ips=st.lists(TEXT, max_size=3).map(tuple), hardware_address=TEXT),
)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.builds(
        DeviceMetadata,
        name=TEXT,
        uid=TEXT,
        generation=st.integers(min_value=0, max_value=9),
        requests=st.lists(
            st.builds(Request, name=TEXT, devices=st.lists(DEVICES, max_size=2).map(tuple)), max_size=3
        ).map(tuple),
    )
)
def test_what_is_written_is_read(metadata: DeviceMetadata) -> None:
    assert decode(encode(metadata, ["v1alpha1", "v1beta1"])) == metadata
