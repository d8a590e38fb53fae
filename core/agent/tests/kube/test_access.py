"""What of the official client is imported, and what becomes of a kubeconfig that gives no access."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.kube.access import Access, api_client
from dragoman.model.errors import Refused

PROGRAM = """
import asyncio, sys
from dragoman.kube.access import Access, api_client
from dragoman.model.errors import Refused
try:
    asyncio.run(api_client(Access(server={server!r}), connections=1)).rest_client.close()
except Refused as error:
    assert "service" in str(error).lower(), error  # a cluster's files are not here
print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("server", "needed"),
    [("http://127.0.0.1:1", "kubernetes.client.api_client"), (None, "kubernetes.config.incluster_config")],
)
def test_with_a_url_and_in_a_cluster_only_what_is_needed_is_imported(
    server: str | None, needed: str, tmp_path: Path
) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "192.0.2.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    program = PROGRAM.format(server=server)
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert needed in imported
    assert imported.isdisjoint({"kubernetes.dynamic", "kubernetes.watch", "websocket", "oauthlib", "requests"})


def kubeconfig(user: str = "{token: t}", server: str = '"http://127.0.0.1:1"') -> str:
    return (
        f"{{current-context: x, clusters: [{{name: c, cluster: {{server: {server}}}}}], "
        f"contexts: [{{name: x, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {user}}}]}}"
    )


def exec_plugin(script: str) -> str:
    return (
        "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, "
        f"args: [-c, '{script}']}}}}"
    )


async def refusal(folder: Path, text: str | bytes) -> str:
    """Say why there is no access with a kubeconfig."""
    file = folder / "kubeconfig"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(Refused) as refused:
        await api_client(Access(kubeconfig=file), connections=1)
    assert str(refused.value).startswith("no access to a Kubernetes API server: ")
    assert str(refused.value).endswith(f": check {file}")
    return str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        b"\x8c\xff",
        kubeconfig(server="5"),
        kubeconfig(user="{auth-provider: {name: gcp, config: {}}}"),
    ],
    ids=["cut off", "list", "binary", "server is a number", "provider of former times"],
)
async def test_a_kubeconfig_of_the_wrong_shape_is_refused_as_such(text: str | bytes, tmp_path: Path) -> None:
    assert "the kubeconfig cannot be read: " in await refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo token expired >&2; exit 3", "no credentials: exec: process returned 3. token expired"),
        ("echo hello", "no credentials: exec: failed to decode process output"),
    ],
)
async def test_after_an_exec_plugin_that_fails_nobody_goes_on_as_an_anonymous_user(
    script: str, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert why in await refusal(tmp_path, kubeconfig(exec_plugin(script)))
    assert not caplog.records


async def test_a_server_without_a_scheme_is_refused(tmp_path: Path) -> None:
    assert "its address 'example.com' is no URL" in await refusal(tmp_path, kubeconfig(server="example.com"))


@pytest.mark.parametrize("name", ["absent", "loop"])
async def test_a_kubeconfig_that_cannot_be_opened_is_named(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(Refused, match=rf"{file} cannot be read: .*: check {file}$"):
        await api_client(Access(kubeconfig=file), connections=1)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("{absent}", "{absent} cannot be read: No such file or directory: check KUBECONFIG"),
        ("{absent}:{there}", "http://127.0.0.1:1"),
        ("", "set KUBECONFIG or kubernetes.kubeconfig"),
    ],
)
def test_of_several_kubeconfigs_in_the_environment_one_has_to_be_there(named: str, said: str, tmp_path: Path) -> None:
    places = {"there": tmp_path / "there", "absent": tmp_path / "absent"}
    places["there"].write_text(kubeconfig())
    environ = {"KUBECONFIG": named.format(**places), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", HOST], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(said.format(**places))


HOST = """
import asyncio
from dragoman.kube.access import Access, api_client
from dragoman.model.errors import Refused
try:
    client = asyncio.run(api_client(Access(), connections=1))
    print(client.configuration.host)
except Refused as error:
    print(error)
"""
