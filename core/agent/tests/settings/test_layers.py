"""Merging of layers, with every trap of the loader behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.settings.layers import Layer, merge, origin, origins, without_nulls


def merged(*layers: dict[str, Any]) -> dict[str, Any]:
    return merge([Layer(str(index), data) for index, data in enumerate(layers)])


def test_siblings_of_a_changed_key_stay() -> None:
    base = {"limits": {"start": 1, "stop": 2, "setupDevice": 3}}
    assert merged(base, {"limits": {"stop": 9}}) == {"limits": {"start": 1, "stop": 9, "setupDevice": 3}}


def test_lists_are_replaced() -> None:
    assert merged({"a": {"l": ["x", "y"]}}, {"a": {"l": ["z"]}}) == {"a": {"l": ["z"]}}
    assert merged({"a": ["x"]}, {"a": []}) == {"a": []}


@pytest.mark.parametrize(
    "token",
    [
        "@format {env[HOME]}",
        "@format {this.other}",
        "@read_file /etc/hostname",
        "@int 3",
        "@str 3",
        "@json [1]",
        "@jinja {{ this.other }}",
        "@get other",
        "@del",
        "@reset x",
        "@merge [1]",
        "@merge_unique [1]",
        "@insert 0 x",
        "@none",
        "@upper a",
        "@note a",
        "@empty",
    ],
)
def test_no_token_executes(token: str) -> None:
    base = {"other": "o", "top": "t", "nested": {"key": "k", "list": ["l"]}}
    top = {"top": token, "nested": {"key": token, "list": [token, {"deep": token}]}}
    assert merged(base, top) == {"other": "o", **top}


@pytest.mark.parametrize(
    "key", ["dynaconf_merge", "dynaconf_merge_unique", "dynaconf_include", "dynaconf_dotted_lookup"]
)
def test_magic_words_are_plain_keys_and_values(key: str) -> None:
    base: dict[str, Any] = {"a": {"x": 1}, "l": [1]}
    assert merged(base, {key: False, "a": {key: True, "y": 2}, "l": [key]}) == {
        "a": {"x": 1, key: True, "y": 2},
        "l": [key],
        key: False,
    }


def test_keys_stay_case_sensitive() -> None:
    assert merged({"rxQueue": {"a": 1}}, {"rxqueue": {"A": 2}}) == {"rxQueue": {"a": 1}, "rxqueue": {"A": 2}}


@pytest.mark.parametrize("key", ["a.b", "a__b", "a[0]", "a b", "keys", "_x", "AUTO_CAST_FOR_DYNACONF", "SPEC", ""])
def test_odd_keys_are_plain_keys(key: str) -> None:
    assert merged({key: {"x": 1}}, {key: {"y": 2}}) == {key: {"x": 1, "y": 2}}


@pytest.mark.parametrize("text", ["0000:03:00.1", "1e3", "-1", "007", "0x10", "0o17", "on", "123456", "true", "[1]"])
def test_text_is_not_parsed_again(text: str) -> None:
    assert merged({"a": "x"}, {"a": text}) == {"a": text}


def test_object_and_value_replace_each_other() -> None:
    assert merged({"a": {"x": 1}}, {"a": 2}) == {"a": 2}
    assert merged({"a": 2}, {"a": {"x": 1}}) == {"a": {"x": 1}}


def test_null_removes_what_lower_layers_say_and_higher_layers_can_set_it_again() -> None:
    assert merged({"a": {"x": 1}}, {"a": None}, {"a": {"y": 2}}) == {"a": {"y": 2}}
    assert without_nulls(merged({"a": {"x": 1, "y": 2}}, {"a": {"x": None}}), lambda _: True) == {"a": {"y": 2}}


def test_null_of_an_unknown_key_stays_to_be_refused() -> None:
    assert without_nulls({"a": None, "b": {"c": None}}, lambda path: path == ("a",)) == {"b": {"c": None}}


def test_layers_are_not_changed_by_the_merge() -> None:
    low, high = {"a": {"l": [1]}}, {"a": {"m": [2]}}
    merged(low, high)
    assert (low, high) == ({"a": {"l": [1]}}, {"a": {"m": [2]}})


def test_no_layers_are_no_settings() -> None:
    assert merged() == {}


def test_origin_is_the_last_layer_that_mentions_the_path() -> None:
    known = origins([Layer("low", {"a": {"x": 1, "y": 1}, "l": [1]}), Layer("high", {"a": {"x": 2}})])
    assert known == {"a": "high", "a.x": "high", "a.y": "low", "l": "low"}


@pytest.mark.parametrize(
    ("path", "layer"), [("l[0].name", "low"), ("a.z", "high"), ("other", "defaults"), ("", "defaults")]
)
def test_origin_of_what_no_layer_mentions_is_that_of_what_is_around_it(path: str, layer: str) -> None:
    known = origins([Layer("low", {"l": [{}]}), Layer("high", {"a": {}})])
    assert origin(known, path, "defaults") == layer


def test_variables_of_the_loader_itself_run_nothing(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\nA = 1\n")
    (tmp_path / "dynaconf_hooks.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    (tmp_path / ".env").write_text("DRAGOMAN_POD_UID=evil\n")
    names = ("INCLUDES", "SETTINGS_FILE", "PRELOAD", "SECRETS", "LOADERS", "DYNACONF_INCLUDE")
    env = dict(os.environ, SETTINGS_MODULE="evil", LOAD_DOTENV_FOR_DYNACONF="true", AUTO_CAST_FOR_DYNACONF="true")
    env |= {f"{name}_FOR_DYNACONF": "evil.py" for name in names} | {"MERGE_ENABLED_FOR_DYNACONF": "false"}
    script = (
        "import os\n"
        "from dragoman.settings.layers import Layer, merge\n"
        "assert merge([Layer('x', {'a': 1})]) == {'a': 1}\n"
        "assert 'DRAGOMAN_POD_UID' not in os.environ\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=env, check=True)
    assert not (tmp_path / "ran").exists()


KEYS = st.sampled_from(["a", "A", "a.b", "dynaconf_merge", "keys", "x_y", "@int"])
VALUES = st.none() | st.booleans() | st.integers() | st.sampled_from(["@int 1", "@del", "dynaconf_merge", "x"])
TREES = st.recursive(
    st.dictionaries(KEYS, VALUES | st.lists(VALUES, max_size=2), max_size=3),
    lambda inner: st.dictionaries(KEYS, VALUES | inner, max_size=3),
    max_leaves=6,
)


def overlay(low: Any, high: Any) -> Any:
    """State the rule: objects merge, everything else is replaced."""
    if not isinstance(low, dict) or not isinstance(high, dict):
        return high
    return {
        key: overlay(low[key], high[key]) if key in low and key in high else {**low, **high}[key]
        for key in {**low, **high}
    }


@settings(max_examples=150, derandomize=True, deadline=None)
@given(TREES, TREES, TREES)
def test_merge_follows_one_rule_whatever_is_in_the_layers(one: Any, two: Any, three: Any) -> None:
    assert merged(one, two, three) == overlay(overlay(one, two), three)
