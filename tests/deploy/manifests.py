"""The Helm chart and the plain manifests, read."""

from __future__ import annotations

import functools
from typing import Any

import yaml

from tests.deploy.support import ROOT

CHART = ROOT / "deploy" / "helm" / "innobrim"
MANIFESTS = ROOT / "deploy" / "kubernetes"
WAYS = sorted(path.name.removesuffix(".values.yaml") for path in MANIFESTS.glob("*.values.yaml"))
SIDECARS = [way for way in WAYS if way != "hosted"]
AT = {
    "statefulset": ("spec.template.spec.containers", "spec.template.spec.volumes"),
    "percona-server": ("spec.mysql.sidecars", "spec.mysql.sidecarVolumes"),
    "percona-xtradb-cluster": ("spec.pxc.sidecars", "spec.pxc.sidecarVolumes"),
    "mariadb-operator": ("spec.sidecarContainers", "spec.volumes"),
}
"""Where a patch has containers and volumes.

From the operators' sources: api/v1/perconaservermysql_types.go (Percona Server, 1.2.0),
pkg/apis/pxc/v1/pxc_types.go (XtraDB Cluster, 1.19.0), api/v1alpha1/mariadb_types.go (MariaDB, 26.6.0).
"""


def with_values(values: dict[str, str]) -> list[str]:
    """Return the flags that set these values."""
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


@functools.cache
def documents(file: str) -> list[dict[str, Any]]:
    """Return the documents of a manifest."""
    text = (MANIFESTS / file).read_text(encoding="utf-8")
    return [document for document in yaml.safe_load_all(text) if document]


def inside(document: dict[str, Any], path: str) -> Any:  # noqa: ANN401 - what is there
    """Return what stands at a path with dots."""
    return functools.reduce(lambda found, name: found[name], path.split("."), document)


def pod(way: str) -> dict[str, Any]:
    """Return the pod that a way leads to, with our container alone."""
    if way == "hosted":
        deployment = next(one for one in documents("hosted.yaml") if one["kind"] == "Deployment")
        return dict(deployment["spec"]["template"]["spec"])
    (patch,) = documents(f"{way}.patch.yaml")
    containers, volumes = (inside(patch, path) for path in AT[way])
    return {"containers": containers, "volumes": volumes}


def container(way: str) -> dict[str, Any]:
    """Return our container."""
    (found,) = pod(way)["containers"]
    return dict(found)
