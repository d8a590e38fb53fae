"""Reading manifests: what has a JSON form comes out as JSON would have it, anything else is a clear error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_kit.manifests import Manifest, Unreadable, none_of, parse, read


def body(text: str) -> object:
    (manifest,) = parse(f"v: {text}".encode(), "m.yaml")
    return manifest.body["v"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02", "2026-01-02"),
        ("1:30", "1:30"),
        ("007", "007"),
        ("1e3", "1e3"),
        ("12", 12),
        ("-0x1F", -31),
        ("1.5", 1.5),
        ("yes", True),
        ("~", None),
        ("1Gi", "1Gi"),
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
        ("&a [1, *a2]".replace("*a2", "2"), [1, 2]),
    ],
)
def test_scalars_are_what_json_can_hold(text: str, value: object) -> None:
    assert body(text) == value


def test_a_pair_of_surrogates_is_one_character() -> None:
    (manifest,) = parse(b'{"a": "\\ud83d\\ude00"}', "m.json")
    assert manifest.body == {"a": "\N{GRINNING FACE}"}


def test_a_merged_key_may_be_written_over() -> None:
    (manifest,) = parse(b"a: &a {x: 1}\nc: {<<: *a, x: 2}", "m.yaml")
    assert manifest.body["c"] == {"x": 2}


def test_aliases_and_merge_keys_are_written_out() -> None:
    (manifest,) = parse(b"a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}", "m.yaml")
    assert manifest.body == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "more than 5000000 values"),
        ("a: &a [*a]", "a value holds itself"),
        ("a: !!float inf", "inf is no number of JSON"),
        ("a: !!binary aGk=", "has no JSON form"),
        ("a: !!set {x}", "has no JSON form"),
        ("a: !!python/object:os.system {}", "could not determine a constructor"),
        ("[1]: 2", "a key is a list"),
        ("null: 2", "a key is null"),
        ("a: [", "document 1 cannot be read"),
        ("a: 1\n---\nb: [", "document 2 cannot be read"),
        ("[" * 100_000, "nested too deeply|maximum nesting depth"),
        ("- 1", "is a list where an object"),
        ("3", "is an integer where an object"),
        ("1.5", "is a number where an object"),
        ("false", "is a truth value where an object"),
        ("hello", "is a text where an object"),
        ("{kind: List, items: 3}", "items is an integer where a list"),
        ("{kind: List, items: {a: 1}}", "items is an object where a list"),
        ("\x00", "cannot be read"),
        ("a: 1\nb: 2\na: 3", "key 'a' at line 3 stands at line 1 already"),
    ],
)
def test_what_has_no_json_form_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why) as refused:
        list(parse(text.encode(), "m.yaml"))
    assert str(refused.value).startswith("m.yaml, document ")


@pytest.mark.parametrize(
    "text",
    [
        b"NaN",
        b'{"a": Infinity}',
        b"{",
        b"[" * 100_000,
        b"\xff",
        b'{"a": "\\ud800"}',
        b'{"a": {"\\udfff": 1}}',
        b'{"a": {"b": 1, "b": 2}}',
    ],
)
def test_broken_json_is_refused_in_words(text: bytes) -> None:
    with pytest.raises(Unreadable, match=r"m\.json, document 1 "):
        list(parse(text, "m.json"))


def test_lists_give_their_items_with_the_kind_of_the_list() -> None:
    text = {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "a"}}]}
    plain = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}]}
    found = [*parse(json.dumps(text).encode(), "m.json"), *parse(json.dumps(plain).encode(), "m.json")]
    assert found == [
        Manifest("m.json, document 1, item 0", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}),
        Manifest("m.json, document 1, item 0", {"apiVersion": "v1", "kind": "Pod"}),
    ]


def test_folders_are_read_in_order_with_what_is_below_them(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.yaml").write_text("n: 1\n---\n---\nn: 2")
    (tmp_path / "deep" / "c.json").write_text('{"n": 3}')
    (tmp_path / "notes.txt").write_text("[")
    assert [each.body["n"] for each in read([tmp_path])] == [1, 2, 3]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file"):
        list(read([tmp_path / "nothing.yaml"]))


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet="{}[]:,-&*!|>'\"#%@`?\n a1.~<", max_size=40).map(str.encode))
def test_any_text_is_read_or_refused(text: bytes) -> None:
    try:
        found = list(parse(text, "m.yaml"))
    except Unreadable:
        return
    for manifest in found:
        json.dumps(manifest.body, allow_nan=False)


def test_files_without_what_is_read_are_told_with_what_they_hold_and_what_to_give() -> None:
    kinds = ("ResourceSlice", "ResourceClaim")
    assert str(none_of([Path("a"), Path("b.yaml")], kinds, ["Pod", "ConfigMap", "Pod"])) == (
        "a, b.yaml: read, but no ResourceSlice or ResourceClaim is in it, only ConfigMap and Pod: "
        "give manifests of a cluster, as kubectl get -o yaml writes them"
    )
    assert "is in it, nor any other object: give" in str(none_of([Path("a")], kinds, []))
