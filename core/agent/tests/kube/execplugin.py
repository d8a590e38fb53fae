"""A kubeconfig whose credentials a shell script gives, or does not give."""

from __future__ import annotations

from pathlib import Path


def kubeconfig(folder: Path, script: str) -> Path:
    """Write the file; ``script`` has no single quotes."""
    file = folder / "kubeconfig"
    file.write_text(
        "{current-context: x, clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], "
        "contexts: [{name: x, context: {cluster: c, user: u}}], users: [{name: u, user: {exec: "
        "{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, "
        f"args: [-c, '{script}']}}}}}}]}}"
    )
    return file
