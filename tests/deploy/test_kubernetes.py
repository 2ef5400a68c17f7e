"""The Helm chart and the plain manifests: that Kubernetes takes them, and what they promise."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.factory import CERTIFICATES
from tests.cli.support import innobrim
from tests.deploy.manifests import (
    CHART,
    MANIFESTS,
    SIDECARS,
    WAYS,
    container,
    documents,
    pod,
    with_values,
)
from tests.deploy.support import ROOT, tool

SCHEMAS = ("1.25", "1.37")
"""The oldest release of Kubernetes that the chart takes, and the newest with a schema here."""

MARIADB_CONTAINER = {
    "name",
    "image",
    "imagePullPolicy",
    "command",
    "args",
    "env",
    "volumeMounts",
    "resources",
}
"""All that mariadb-operator knows of a sidecar: Container in its api/v1alpha1/base_types.go."""

MARIADB_SOURCES = {
    "configMap": {"name", "defaultMode"},
    "secret": {"secretName", "defaultMode"},
    "emptyDir": {"medium", "sizeLimit"},
}
"""What it knows of these volumes: its api/v1alpha1/kubernetes_volume_types.go."""

GOOD = {"image.repository": "r.example.com/innobrim", "server.host": "db1", "server.ca.secret": "ca"}
AS_SIDECAR = {**GOOD, "way": "percona-server", "cluster": "cluster1", "server.host": ""}


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    """Run helm on the chart; return what it came to."""
    return subprocess.run(  # noqa: S603 - a tool that the setup brought
        [tool("helm"), *words], capture_output=True, text=True, timeout=60, check=False
    )


def fits(document: dict[str, Any], version: str) -> None:
    """Ask that a document fits the schema of a release of Kubernetes, with no field unknown there."""
    import kubernetes_validate  # noqa: PLC0415 - thousands of files; .venv may be of before them

    kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("way", WAYS)
def test_the_chart_is_sound(way: str) -> None:
    """Helm finds nothing to complain of in the chart, with the values of each way."""
    done = helm("lint", "--strict", str(CHART), "--values", str(MANIFESTS / f"{way}.values.yaml"))

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plain_manifests_are_those_of_the_chart(tmp_path: Path) -> None:
    """Whoever has no Helm gets the same: render.sh makes every manifest anew, and nothing differs."""
    path = f"{Path(tool('helm')).parent}:{os.environ['PATH']}"
    subprocess.run(  # noqa: S603 - our own script
        [str(MANIFESTS / "render.sh"), str(tmp_path)],
        env={**os.environ, "PATH": path},
        timeout=120,
        check=True,
    )
    made = {path.name: list(yaml.safe_load_all(path.read_text())) for path in tmp_path.iterdir()}
    kept = {
        path.name: list(yaml.safe_load_all(path.read_text()))
        for path in MANIFESTS.glob("*.yaml")
        if not path.name.endswith(".values.yaml")
    }

    assert made == kept


@pytest.mark.parametrize("version", SCHEMAS)
@pytest.mark.parametrize("way", WAYS)
def test_kubernetes_knows_every_field(way: str, version: str) -> None:
    """Each object fits the schema of its kind, and so does the pod of a patch; no field is unknown."""
    objects = [one for one in documents(f"{way}.yaml") if one["kind"] != "PodMonitor"]
    objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod(way)})
    for one in objects:
        fits(one, version)


def test_mariadb_operator_knows_every_field() -> None:
    """A field that this operator does not know would be refused or dropped, and with it what it says."""
    assert set(container("mariadb-operator")) <= MARIADB_CONTAINER
    for volume in pod("mariadb-operator")["volumes"]:
        ((kind, fields),) = ((name, value) for name, value in volume.items() if name != "name")
        assert set(fields) <= MARIADB_SOURCES[kind]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "mariadb-operator"])
def test_the_container_may_do_nothing(way: str) -> None:
    """It is not root, gets no capability and writes to nothing but its volumes."""
    assert container(way)["securityContext"] == {
        "runAsNonRoot": True,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


@pytest.mark.parametrize("way", SIDECARS)
def test_a_daemon_in_need_does_not_take_the_database_away(way: str) -> None:
    """No probe makes the pod of a server not ready, and the first process outlives the daemon."""
    sidecar = container(way)

    assert not {"readinessProbe", "livenessProbe", "startupProbe"} & set(sidecar)
    assert sidecar["command"][-1] == "innobrim-sidecar"


@pytest.mark.parametrize("way", [way for way in SIDECARS if way != "mariadb-operator"])
def test_the_database_starts_without_what_is_missing(way: str) -> None:
    """After a helm uninstall, or where a Secret is gone, a pod of the server starts all the same."""
    sources = [one.get("secret") or one.get("configMap") for one in pod(way)["volumes"]]

    assert [one.get("optional") for one in sources if one] == [True] * 3


@pytest.mark.parametrize("way", SIDECARS)
def test_the_login_is_readable_without_a_group_of_the_pod(way: str) -> None:
    """A StatefulSet of one's own may have no fsGroup: the file is root's, and our account has to read it."""
    login = next(one for one in pod(way)["volumes"] if one["name"] == "innobrim-login")

    assert login["secret"]["defaultMode"] & stat.S_IROTH


@pytest.mark.parametrize("way", ["hosted", "statefulset"])
def test_the_manifests_take_the_secrets_that_the_page_makes(way: str) -> None:
    """Whoever types the page's lines and applies the plain files has every Secret and key that they name."""
    page = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    made = dict(re.findall(r"kubectl create secret generic (\S+) --from-file=([^=\s]+)", page))
    secrets = {one["name"]: one["secret"] for one in pod(way)["volumes"] if "secret" in one}

    assert secrets["innobrim-login"]["secretName"] in made
    assert made[secrets["innobrim-ca"]["secretName"]] == secrets["innobrim-ca"]["items"][0]["key"]


def test_a_hook_gets_through_the_network_policy() -> None:
    """Beside names and the server the daemon reaches what networkPolicy.egress names, and nothing else."""
    words = ["--set-json", 'networkPolicy.egress=[{"ports":[{"protocol":"TCP","port":443}]}]']
    done = helm("template", "a", str(CHART), *with_values(GOOD), *words, "-s", "templates/networkpolicy.yaml")
    (policy,) = yaml.safe_load_all(done.stdout)
    fits(policy, SCHEMAS[-1])
    ports = [{port["port"] for port in rule["ports"]} for rule in policy["spec"]["egress"]]

    assert ports == [{53, 5353}, {3306}, {443}]


def test_the_pod_goes_to_the_nodes_that_are_named() -> None:
    """A node that takes no other pod can be given to this one."""
    words = [
        "--set",
        "scheduling.nodeSelector.pool=tools",
        "--set-json",
        'scheduling.tolerations=[{"key":"tools","operator":"Exists"}]',
    ]
    done = helm("template", "a", str(CHART), *with_values(GOOD), *words)
    (made,) = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "Deployment"]
    fits(made, SCHEMAS[-1])
    spec = made["spec"]["template"]["spec"]

    assert spec["nodeSelector"] == {"pool": "tools"}
    assert spec["tolerations"] == [{"key": "tools", "operator": "Exists"}]


def test_an_amount_may_be_a_number_and_a_limit_may_go() -> None:
    """Half a processor is written as 0.5 too, and null takes a limit away, as in every chart."""
    words = ["--set", "resources.requests.cpu=0.5,resources.limits.cpu=null"]
    done = helm("template", "a", str(CHART), *with_values(GOOD), *words)
    (made,) = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "Deployment"]
    (found,) = made["spec"]["template"]["spec"]["containers"]

    assert found["resources"]["requests"]["cpu"] in (0.5, "0.5")
    assert "cpu" not in found["resources"]["limits"]


def test_the_probe_is_the_one_of_the_image() -> None:
    """A loop that hangs is started anew, by the check that Docker does as well."""
    dockerfile = (ROOT / "deploy" / "container" / "Dockerfile").read_text(encoding="utf-8")
    script = container("hosted")["livenessProbe"]["exec"]["command"][-1]

    assert f'"{script}"' in dockerfile


def test_the_root_password_of_mariadb_operator_is_dropped(tmp_path: Path) -> None:
    """The operator gives every container root's password; the daemon has none of that environment."""
    (tmp_path / "innobrim").write_text(
        '#!/bin/sh\nenv >"$TO/$1"\necho "$@" >>"$TO/words"\n[ "$1" != run ] || kill -TERM $PPID\n'
    )
    (tmp_path / "innobrim").chmod(0o755)
    sidecar = container("mariadb-operator")
    script = sidecar["command"][2].replace("TMPDIR=/var/lib/innobrim", f"TO={tmp_path}")
    own = {one["name"]: one.get("value", "mariadb-0") for one in sidecar["env"]}
    inherited = {"MARIADB_ROOT_PASSWORD": "secret", "MYSQL_TCP_PORT": "3306", "POD_NAME": "mariadb-0"}
    subprocess.run(  # noqa: S603 - what the manifest says
        [*sidecar["command"][:2], script, *sidecar["command"][3:], *sidecar["args"]],
        env={"PATH": f"{tmp_path}:{ROOT}/deploy/container:{os.environ['PATH']}", **inherited, **own},
        timeout=20,
        check=True,
    )
    kept = dict(line.split("=", 1) for line in (tmp_path / "run").read_text().splitlines())

    assert (tmp_path / "words").read_text().splitlines() == ["park --if-crashed", "run --insecure-api"]
    assert {name: kept.get(name) for name in own} == own
    assert not set(inherited) & set(kept)


@pytest.mark.parametrize("way", WAYS)
def test_innobrim_takes_the_configuration(way: str, tmp_path: Path) -> None:
    """A daemon starts with the file of the ConfigMap and the environment of the container."""
    crt, key = (CERTIFICATES.joinpath(f"one.{kind}").read_text() for kind in ("crt", "key"))
    files = {
        "login/my.cnf": "[client]\nuser=innobrim\npassword=secret\n",
        **dict.fromkeys(("ca/ca.crt", "ca/ca.pem", "etc/pki/ca.crt", "api/tls.crt"), crt),
        "api/tls.key": key,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    variables = {one["name"]: one.get("value", "mysql-0") for one in container(way)["env"]}
    config = next(one for one in documents(f"{way}.yaml") if one["kind"] == "ConfigMap")
    toml = tmp_path / "innobrim.toml"
    toml.write_text(config["data"]["innobrim.toml"])
    moved = {
        name: re.sub(r"(?=/(login|ca|api|etc)/)", str(tmp_path), text) for name, text in variables.items()
    }
    result = innobrim("config", "check", "--config", toml, **moved)

    assert "a daemon would start with this configuration" in result.output


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({**GOOD, "way": "sidecar"}, ["way", "'hosted'", "'percona-server'"]),
        ({**GOOD, "imgae.tag": "1"}, ["imgae"]),
        ({**GOOD, "scheduling.tolerate": "1"}, ["scheduling", "tolerate"]),
        ({**GOOD, "server.port": "70000"}, ["server/port", "70,000", "65,535"]),
        ({**GOOD, "api.reach": "everybody"}, ["api/reach", "'loopback'", "'plain'", "'tls'"]),
        ({**GOOD, "image.digest": "sha256:1"}, ["image/digest", "sha256:1"]),
        ({**GOOD, "image.repository": ""}, ["image.repository is empty", "registry.example.com/innobrim"]),
        ({**GOOD, "server.host": ""}, ["server.host is empty", "one server"]),
        ({**GOOD, "server.ca.secret": ""}, ["server.ca.secret is empty", "verify_identity"]),
        ({**GOOD, "patch": "true"}, ["patch is true", "hosted has no patch"]),
        ({**GOOD, "api.reach": "tls"}, ["api.tlsSecret is empty", "kubernetes.io/tls"]),
        ({**GOOD, "podMonitor.enabled": "true"}, ["api.reach is loopback", "plain or tls"]),
        ({**AS_SIDECAR, "cluster": ""}, ["cluster is empty", "percona-server"]),
        ({**AS_SIDECAR, "server.host": "db1"}, ["server.host is db1", "its own pod"]),
        ({**AS_SIDECAR, "api.reach": "tls"}, ["api.reach is tls", "loopback or plain"]),
        (
            {**AS_SIDECAR, "way": "statefulset", "server.ca.secret": ""},
            ["server.ca.secret is empty", "verify_ca"],
        ),
    ],
)
def test_a_wrong_value_is_refused(values: dict[str, str], said: list[str]) -> None:
    """An error names the value, and what would be right."""
    done = helm("template", "innobrim", str(CHART), *with_values(values))

    assert done.returncode != 0
    assert [word for word in said if word not in done.stderr] == []


def test_a_new_configuration_restarts_the_deployment() -> None:
    """Where the ConfigMap changes, a Deployment's pod is made anew, and so reads it."""
    made = {
        helm(
            "template",
            "a",
            str(CHART),
            *with_values({**GOOD, "config": config}),
            "-s",
            "templates/deployment.yaml",
        ).stdout
        for config in ("[loop]", "[redo]")
    }

    assert len(made) == 2


def test_a_name_of_digits_stays_a_name() -> None:
    """Names that YAML would read as numbers come out as text, which Kubernetes asks for."""
    odd = {"server.ca.secret": "123", "login.secret": "456", "state.storageClass": "7e8"}
    words = [word for name, value in odd.items() for word in ("--set-string", f"{name}={value}")]
    done = helm("template", "2024", str(CHART), *with_values(GOOD), *words)
    made = [one for one in yaml.safe_load_all(done.stdout) if one]

    for one in made:
        fits(one, SCHEMAS[-1])
    assert {one["metadata"]["name"] for one in made} == {"2024"}
