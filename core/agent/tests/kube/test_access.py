"""What of the official client is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from dragoman.kube.access import Access, api_client
from dragoman.model.errors import Refused
try:
    api_client(Access(server={server!r}), connections=1).rest_client.close()
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
