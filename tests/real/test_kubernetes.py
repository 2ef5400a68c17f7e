"""The chart and the plain manifests on a real API server: what it takes, and whom it lets.

``make prove PART=kubernetes`` builds the server. There is no kubelet and no controller: objects are stored,
and no pod runs. The operators' own definitions are used where ``.cache/kubernetes/crds`` has them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.factory import CERTIFICATES
from tests.cli.support import free_port
from tests.deploy.manifests import CHART, MANIFESTS, SIDECARS, WAYS, documents, inside, pod, with_values
from tests.deploy.support import ROOT, tool

pytestmark = [pytest.mark.prove, pytest.mark.timeout(900)]

CRDS = ROOT / ".cache" / "kubernetes" / "crds"
"""Where percona-server.yaml, percona-xtradb-cluster.yaml, mariadb-operator.yaml and podmonitor.yaml are.

They are in no package. deploy/crd.yaml of Percona's operators, config/crd/bases/
k8s.mariadb.com_mariadbs.yaml and example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml:
of the repositories, at the releases that
tests/deploy/manifests.py names, and of Prometheus Operator 0.93.0.
"""

UP_SECONDS = 300.0
SPACE = "databases"
OWNERS = {
    "percona-server": """
apiVersion: ps.percona.com/v1
kind: PerconaServerMySQL
metadata: {name: cluster1}
spec:
  unsafeFlags: {}
  mysql: {clusterType: group-replication, size: 3, image: percona/percona-server}
  proxy: {haproxy: {enabled: true, size: 2, image: percona/haproxy}, router: {enabled: false}}
""",
    "percona-xtradb-cluster": """
apiVersion: pxc.percona.com/v1
kind: PerconaXtraDBCluster
metadata: {name: cluster1}
spec: {pxc: {size: 3}, haproxy: {enabled: true, size: 3}}
""",
    "mariadb-operator": """
apiVersion: k8s.mariadb.com/v1alpha1
kind: MariaDB
metadata: {name: mariadb}
spec: {storage: {size: 1Gi}}
""",
}
"""The least of a custom resource, with the name that the manifests take it to have."""

SHORT = {"percona-server": "ps", "percona-xtradb-cluster": "pxc", "mariadb-operator": "mariadb"}

LEAST = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: installer}
rules:
  - {apiGroups: [""], resources: [configmaps, persistentvolumeclaims, secrets], verbs: ["*"]}
  - {apiGroups: [apps], resources: [deployments], verbs: ["*"]}
  - {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: ["*"]}
  - {apiGroups: [monitoring.coreos.com], resources: [podmonitors], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: installer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: installer}
subjects: [{kind: User, name: installer, apiGroup: rbac.authorization.k8s.io}]
"""
"""All that whoever installs the chart needs."""

STATEFULSET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: mysql}
spec:
  serviceName: mysql
  selector: {matchLabels: {app: mysql}}
  template:
    metadata: {labels: {app: mysql}}
    spec: {containers: [{name: mysql, image: mysql}]}
"""


class Cluster:
    """An API server, and two people who use it: admin, and installer, who has no right but those given."""

    def __init__(self, folder: Path, port: int) -> None:
        """Name the server; ``folder`` gets the users' configurations."""
        self.folder, self.url = folder, f"https://127.0.0.1:{port}"
        for user in ("admin", "installer"):
            self.file(user).write_text(
                json.dumps(
                    {
                        "apiVersion": "v1",
                        "kind": "Config",
                        "current-context": "here",
                        "clusters": [
                            {
                                "name": "here",
                                "cluster": {"server": self.url, "insecure-skip-tls-verify": True},
                            }
                        ],
                        "users": [{"name": user, "user": {"token": f"token-of-{user}"}}],
                        "contexts": [
                            {"name": "here", "context": {"cluster": "here", "user": user, "namespace": SPACE}}
                        ],
                    }
                )
            )

    def file(self, user: str) -> Path:
        """Return a user's configuration."""
        return self.folder / f"{user}.kubeconfig"

    def run(
        self, program: str, *words: str, user: str = "admin", text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl or helm as somebody; return what it came to."""
        return subprocess.run(  # noqa: S603 - a tool that the setup brought
            [tool(program), "--kubeconfig", str(self.file(user)), *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "HOME": str(self.folder)},
        )

    def kubectl(self, *words: str, user: str = "admin", text: str | None = None) -> str:
        """Run kubectl; return what it says, and fail where it is refused or warned."""
        done = self.run("kubectl", *words, user=user, text=text)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    def helm(self, *words: str) -> str:
        """Run helm as the installer; return what it says, and fail where it is refused."""
        done = self.run("helm", *words, user="installer")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def get(self, *words: str) -> dict[str, Any]:
        """Return an object."""
        return dict(json.loads(self.kubectl("get", *words, "--output", "json")))


def _listening(port: int) -> bool:
    with contextlib.closing(socket.socket()) as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def _running(log: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as written, subprocess.Popen(words, stdout=written, stderr=written) as one:  # noqa: S603 - built by the setup
        try:
            yield one
        finally:
            one.terminate()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start etcd and the API server; have a namespace that takes restricted pods alone, and one installer."""
    folder = tmp_path_factory.mktemp("cluster")
    etcd, peers, port = free_port(), free_port(), free_port()
    key = str(CERTIFICATES / "rsa.key")
    tokens = folder / "tokens.csv"
    tokens.write_text('token-of-admin,admin,1,"system:masters"\ntoken-of-installer,installer,2\n')
    at = f"http://127.0.0.1:{etcd}"
    with (
        _running(
            folder / "etcd.log",
            *(tool("etcd"), "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", at, "--advertise-client-urls", at),
            *("--listen-peer-urls", f"http://127.0.0.1:{peers}"),
        ),
        _running(
            folder / "apiserver.log",
            *(tool("kube-apiserver"), "--etcd-servers", at, "--secure-port", str(port)),
            *("--cert-dir", str(folder), "--token-auth-file", str(tokens), "--authorization-mode", "RBAC"),
            *("--service-account-key-file", key, "--service-account-signing-key-file", key),
            *("--service-account-issuer", "https://example.com", "--bind-address", "127.0.0.1"),
            *("--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none"),
        ) as server,
    ):
        one = Cluster(folder, port)
        end = time.monotonic() + UP_SECONDS
        while one.run("kubectl", "get", "--raw", "/readyz").returncode:
            assert server.poll() is None, (folder / "apiserver.log").read_text()[-2000:]
            assert time.monotonic() < end, "the API server does not come up"
            time.sleep(1)  # a server that is not there yet cannot be waited on
        label = "pod-security.kubernetes.io/enforce=restricted"
        one.kubectl("create", "namespace", SPACE)
        one.kubectl("label", "namespace", SPACE, label)
        one.kubectl("create", "serviceaccount", "default")
        if CRDS.exists():
            one.kubectl("apply", "--server-side", "--filename", str(CRDS))
            one.kubectl("wait", "--for", "condition=Established", "crd", "--all")
        yield one


@pytest.fixture
def defined() -> None:
    """Need the operators' definitions."""
    if not CRDS.exists():
        pytest.skip(f"{CRDS} has no definitions of the operators")


def test_whoever_may_nothing_installs_nothing(cluster: Cluster) -> None:
    """The API server asks for rights: without a role the chart is refused, and nothing is made."""
    done = cluster.run("helm", "install", "refused", str(CHART), *HOSTED, user="installer")

    assert "forbidden" in done.stderr
    assert cluster.kubectl("get", "deployments", "--output", "name") == ""


HOSTED = with_values(
    {"image.repository": "registry.example.com/innobrim", "server.host": "db1", "server.ca.secret": "ca"}
)


@pytest.mark.usefixtures("defined")
def test_an_installer_with_few_rights_installs_upgrades_and_removes(cluster: Cluster) -> None:
    """The chart needs no right over pods, services, roles or the cluster; its removal keeps the volume."""
    cluster.kubectl("apply", "--filename", "-", text=LEAST)
    values = ["--values", str(MANIFESTS / "hosted.values.yaml")]
    cluster.helm("install", "innobrim", str(CHART), *values, "--dry-run=server")
    assert cluster.kubectl("get", "deployments", "--output", "name") == ""

    cluster.helm("install", "innobrim", str(CHART), *values)
    first = cluster.get("deployment", "innobrim")
    cluster.helm("upgrade", "innobrim", str(CHART), *values, "--set", "config=[loop]")
    second = cluster.get("deployment", "innobrim")
    cluster.helm("uninstall", "innobrim")
    left = cluster.kubectl(
        "get", "deploy,cm,pvc,netpol,podmonitor", "-l", "app.kubernetes.io/name=innobrim", "-o", "name"
    )

    assert second["metadata"]["generation"] == first["metadata"]["generation"] + 1
    assert left.split() == ["persistentvolumeclaim/innobrim"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("defined")
def test_the_manifests_are_taken(cluster: Cluster, way: str) -> None:
    """Each plain manifest is taken without an error or a warning, first by a dry run."""
    words = ["apply", "--server-side", "--force-conflicts", "--filename", str(MANIFESTS / f"{way}.yaml")]
    cluster.kubectl(*words, "--dry-run=server")
    said = cluster.kubectl(*words)

    assert len(said.splitlines()) == len(documents(f"{way}.yaml"))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "mariadb-operator"])
def test_the_pod_fits_into_a_restricted_namespace(cluster: Cluster, way: str) -> None:
    """The API server's own pod security lets the container in where nothing but restricted pods may run."""
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod(way)}
    cluster.kubectl("create", "--dry-run=server", "--filename", "-", text=json.dumps(document))


def test_the_statefulset_gets_its_sidecar(cluster: Cluster) -> None:
    """The patch adds our container and leaves the server's as it is; typed twice it changes nothing."""
    cluster.run("kubectl", "apply", "--filename", "-", text=STATEFULSET)
    words = ["patch", "statefulset", "mysql", "--patch-file", str(MANIFESTS / "statefulset.patch.yaml")]
    cluster.run("kubectl", *words)
    first = cluster.get("statefulset", "mysql")
    again = cluster.run("kubectl", *words)

    assert {one["name"] for one in inside(first, "spec.template.spec.containers")} == {"mysql", "innobrim"}
    assert "no change" in again.stdout


def has(whole: Any, part: Any) -> bool:  # noqa: ANN401 - what JSON holds
    """Tell whether all of a part is in a whole that may hold more."""
    if isinstance(part, dict):
        return all(name in whole and has(whole[name], value) for name, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(has, whole, part))
    return bool(whole == part)


@pytest.mark.parametrize("way", [way for way in SIDECARS if way != "statefulset"])
@pytest.mark.usefixtures("defined")
def test_the_operator_keeps_every_field_of_the_patch(cluster: Cluster, way: str) -> None:
    """By the operator's own definition the patch is valid, and no field of it is dropped."""
    cluster.kubectl("apply", "--validate=strict", "--filename", "-", text=OWNERS[way])
    resource, name = SHORT[way], yaml.safe_load(OWNERS[way])["metadata"]["name"]
    patch = MANIFESTS / f"{way}.patch.yaml"
    cluster.kubectl("patch", resource, name, "--type", "merge", "--patch-file", str(patch))
    stored = cluster.get(resource, name)
    (wanted,) = documents(patch.name)

    assert has(stored["spec"], wanted["spec"])


def test_the_notes_lead_to_the_patch(cluster: Cluster) -> None:
    """The commands that an installation prints, typed as they stand, print the patch of its values."""
    values = MANIFESTS / "mariadb-operator.values.yaml"
    words = ["--values", str(values), "--set", "podMonitor.enabled=false"]
    said = cluster.run("helm", "install", "noted", str(CHART), *words).stdout
    typed = [line.strip() for line in said.splitlines() if line.startswith("  helm ")]
    for line in typed:
        subprocess.run(  # noqa: S603 - what the notes say
            ["bash", "-c", line.replace(" CHART ", f" {CHART} ")],  # noqa: S607 - the system's
            cwd=cluster.folder,
            env={
                "PATH": f"{Path(tool('helm')).parent}:{os.environ['PATH']}",
                "HOME": str(cluster.folder),
                "KUBECONFIG": str(cluster.file("admin")),
            },
            timeout=120,
            check=True,
        )
    patch = yaml.safe_load((cluster.folder / "patch.yaml").read_text())

    assert len(typed) == 2
    assert inside(patch, "spec.sidecarContainers")[0]["name"] == "innobrim"


def test_a_patch_is_not_installed(cluster: Cluster) -> None:
    """Whoever installs what should be printed gets an error, and no half of a cluster."""
    values = ["--values", str(MANIFESTS / "percona-server.values.yaml"), "--set", "patch=true"]
    done = cluster.run("helm", "install", "patch", str(CHART), *values)

    assert "kind not set" in done.stderr


@pytest.mark.usefixtures("defined")
def test_a_patch_of_a_name_that_is_not_there_makes_nothing(cluster: Cluster) -> None:
    """A wrong name is an error, and no new cluster of servers."""
    patch = str(MANIFESTS / "percona-server.patch.yaml")
    done = cluster.run("kubectl", "patch", "ps", "other", "--type", "merge", "--patch-file", patch)

    assert "not found" in done.stderr


@pytest.mark.usefixtures("defined")
def test_the_way_out_of_the_page_is_taken(cluster: Cluster) -> None:
    """The page's patch that has the pod sleep leaves a valid Deployment without probes."""
    cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "--filename", str(MANIFESTS / "hosted.yaml")
    )
    page = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    typed = re.search(r"^kubectl (patch deployment .*?\]')$", page, re.DOTALL | re.MULTILINE)
    assert typed is not None
    cluster.kubectl(*shlex.split(typed[1]))
    (stored,) = inside(cluster.get("deployment", "innobrim"), "spec.template.spec.containers")

    assert (stored["command"], stored["args"]) == (["sleep"], ["1d"])
    assert not {"livenessProbe", "readinessProbe"} & set(stored)
