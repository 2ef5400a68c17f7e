"""What the Ansible role writes and waits for, without a host: tests/real/test_ansible.py has one."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.support import ROOT, missing

ROLE = ROOT / "deploy" / "ansible" / "roles" / "innobrim"
ANSIBLE = ROOT / ".cache" / "ansible" / "bin"
OUTSIDE = "the server is outside its stage, which is active_percent of [fleet]"
GROUP = "/etc/innobrim/group.toml"


def played(folder: Path, **variables: object) -> tuple[dict[str, Any], bool]:
    """Return the configuration that the role would write, and whether it takes the mode for right."""
    if not ANSIBLE.exists():
        missing(f"{ANSIBLE}: make setup gets it")
    written, mode = folder / "innobrim.toml", folder / "mode"
    tasks = [
        {
            "ansible.builtin.template": {
                "src": str(ROLE / "templates" / "innobrim.toml.j2"),
                "dest": str(written),
            }
        },
        {"ansible.builtin.copy": {"content": "{{ _innobrim_in_mode | bool | to_json }}", "dest": str(mode)}},
    ]
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    limits = {"innobrim_min_io_capacity_max": 200, "innobrim_max_io_capacity_max": 20000}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [str(ROLE / "vars" / "main.yml")],
        "vars": {**defaults, **limits, "_innobrim_new": False, "_innobrim_runs": True, **variables},
        "tasks": tasks,
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
    done = subprocess.run(  # noqa: S603 - our own role
        [ANSIBLE / "python3", ANSIBLE / "ansible-playbook", folder / "play.yml"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "ANSIBLE_HOME": str(folder)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return tomllib.loads(written.read_text(encoding="utf-8")), json.loads(mode.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("advisory", "right"), [(OUTSIDE, True), ("ann said so", False)], ids=["stage", "person"]
)
def test_a_host_whose_stage_has_not_come_does_not_stop_the_rollout(
    tmp_path: Path, advisory: str, *, right: bool
) -> None:
    """With the group's file included, a host outside of active_percent stays advisory, and that is right."""
    now = {"source": "daemon", "mode": "advisory", "advisory": advisory, "holds": []}
    configuration, in_mode = played(
        tmp_path,
        innobrim_mode="active",
        innobrim_settings={"include": GROUP, "fleet": {"servers": ["a"]}},
        _innobrim_status={"rc": 0, "stdout": json.dumps(now)},
    )

    assert configuration["include"] == GROUP
    assert (configuration["loop"]["mode"], configuration["fleet"]) == ("active", {"servers": ["a"]})
    assert in_mode is right
