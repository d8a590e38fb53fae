"""The user of a kubeconfig: tokens, passwords, and programs that give credentials."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman_hookspecs import DragomanError


class NoCredentials(DragomanError):
    """A credential program failed."""


def headers(user: Mapping[str, Any], folder: Path) -> Mapping[str, str]:
    """Give what authorises; file names are relative to the folder of the kubeconfig. Raises ``OSError``."""
    token = user.get("token")
    if user.get("tokenFile"):
        token = (folder / user["tokenFile"]).read_text().strip()
    if token:
        return {"Authorization": f"Bearer {token}"}
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def resolve(user: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run the user's credential program, if one is named, and add what it gives. Raises ``NoCredentials``."""
    program = user.get("exec")
    if not program:
        return user
    command = [program["command"], *(program.get("args") or ())]
    info = {"apiVersion": program["apiVersion"], "kind": "ExecCredential", "spec": {"interactive": False}}
    extra = {each["name"]: each["value"] for each in program.get("env") or ()}
    environment = {**os.environ, **extra, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, check=True)  # noqa: S603 - the user's own
        status = json.loads(done.stdout)["status"]
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise NoCredentials(f"the credential program {command[0]} of the kubeconfig failed: {said}") from error
    except (OSError, ValueError, LookupError) as error:
        raise NoCredentials(f"the credential program {command[0]} of the kubeconfig gives nothing: {error}") from error
    given = dict(user)
    if status.get("token"):
        given["token"] = status["token"]
    for member, name in (("clientCertificateData", "client-certificate-data"), ("clientKeyData", "client-key-data")):
        if status.get(member):
            given[name] = base64.b64encode(status[member].encode()).decode()
    return given
