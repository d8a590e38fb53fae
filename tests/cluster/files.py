"""Settings of the node's programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cluster import build, image

NODE = "node-1"
ADDRESS = "10.77.0.1"
"""The node's own: the kubelet takes none of ``lo``."""
SERVER = "https://127.0.0.1:6443"

TOKENS = {
    "admin": ("admin", "system:masters"),
    "scheduler": ("system:kube-scheduler", ""),
    "controller-manager": ("system:kube-controller-manager", ""),
    "kubelet": (f"system:node:{NODE}", "system:nodes"),
}
"""User and group of who holds the token of that name."""


def gates() -> dict[str, bool]:
    """Give the feature gates that the tests need and the release has off."""
    minor = build.minor()
    wanted = {"ResourceHealthStatus": 31, "DRADeviceTaints": 33, "DRAConsumableCapacity": 34} if minor < 36 else {}
    # Alpha as of 1.37: the cluster's own answers to requests for the status of pools, with types of partitions.
    wanted |= {"DRAResourcePoolStatus": 36, "DRAPartitionableDevicesType": 37}
    return {name: True for name, since in wanted.items() if since <= minor}


def gate_words() -> list[str]:
    """Give them as a program's option."""
    words = [f"{name}={str(value).lower()}" for name, value in gates().items()]
    return [f"--feature-gates={','.join(words)}"] if words else []


def tokens() -> str:
    """Write the API server's token file."""
    rows = [(name, user, f"uid-{name}", group) for name, (user, group) in TOKENS.items()]
    return "".join(",".join(row).rstrip(",") + "\n" for row in rows)


def kubeconfig(token: str, authority: Path) -> str:
    """Write a kubeconfig for who holds the token."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "node", "cluster": {"server": SERVER, "certificate-authority": str(authority)}}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "node", "context": {"cluster": "node", "user": "user"}}],
            "current-context": "node",
        }
    )


def containerd(runtime: Path, disk: Path) -> str:
    """Write containerd's settings: sockets where they are on every node, everything kept on the node's disk."""
    return f"""
version = 3
root = "{disk}/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{image.PAUSE}"
[plugins."io.containerd.cri.v1.runtime"]
  # Where CAP_SYS_RESOURCE is missing, runc could not set a lower score and would die of it.
  restrict_oom_score_adj = true
  enable_cdi = true
  cdi_spec_dirs = ["/var/run/cdi"]
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "{runtime}/bin/runc"
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{runtime}/cni", "{disk}/cni-gate"]
    conf_dir = "{disk}/cni"
[plugins."io.containerd.nri.v1.nri"]
  disable = false
  socket_path = "/var/run/nri/nri.sock"
  plugin_path = "{disk}/nri/plugins"
  plugin_config_path = "{disk}/nri/conf.d"
  plugin_registration_timeout = "5s"
  plugin_request_timeout = "2s"
"""


GATES = "/run/gates"
"""Where a test puts a FIFO with the name of a pod, or of its owner, whose sandbox it holds."""


def gate(runtime: Path) -> str:
    """Write a CNI plugin: the bridge, as soon as a test that holds the pod's sandbox lets it go."""
    return f"""#!/bin/sh
pod=${{CNI_ARGS##*K8S_POD_NAME=}}
pod=${{pod%%;*}}
for gate in {GATES}/$pod {GATES}/${{pod%-*}}; do
  [ "$CNI_COMMAND" = ADD ] && [ -p "$gate" ] && read -r _ < "$gate"
done
exec {runtime}/cni/bridge
"""


def cni() -> str:
    """Write the cluster's network: a bridge."""
    ipam = {
        "type": "host-local",
        "dataDir": "/run/cni-ipam",
        "ranges": [[{"subnet": "10.244.0.0/23"}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "gate", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": ipam}
    return json.dumps({"cniVersion": "1.0.0", "name": "cluster", "plugins": [bridge]})


def kubelet(cgroup: str) -> str:
    """Write the kubelet's settings; ``cgroup`` is the root of all pods' cgroups."""
    settings: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        # Several nodes on one machine would take each other's pods for left over ones.
        "cgroupRoot": cgroup,
        "oomScoreAdj": 0,  # lower takes CAP_SYS_RESOURCE
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "localStorageCapacityIsolation": False,
        "evictionHard": {"memory.available": "100Mi"},
        # An image that is removed as this machine's disk is nearly full cannot be had again: there is no registry.
        "imageGCHighThresholdPercent": 100,
        "maxPods": 250,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "nodeStatusUpdateFrequency": "4s",
        "resolvConf": "",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "featureGates": gates(),
    }
    if build.minor() >= 35:
        settings["failCgroupV1"] = False  # machines with cgroup v1 are still about
    return json.dumps(settings)
