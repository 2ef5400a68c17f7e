"""Which server is taken, and what is said about the others."""

from __future__ import annotations

import pytest

from lab.servers import choose as chooser
from lab.servers.judge import judge_image, judge_version


@pytest.mark.parametrize(
    "text",
    [
        "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
        "mysqld  Ver 8.0.30 for Linux on x86_64 (MySQL Community Server - GPL)",
        "Ver 8.4.8-1.el9",
    ],
)
def test_supported_versions(text: str) -> None:
    assert judge_version(text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "mysqld  Ver 8.0.29 for Linux on x86_64 (MySQL Community Server - GPL)",
            "MySQL 8.0.29 is not supported yet",
        ),
        ("mysqld  Ver 5.7.44 for Linux on x86_64", "8.0.30 is the oldest"),
        (
            "mysqld  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu",
            "MariaDB 10.11.14 is not supported yet",
        ),
        ("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)", "Percona 8.0.36"),
        ("something else", "not understood"),
    ],
)
def test_refused_versions_say_why(text: str, why: str) -> None:
    refusal = judge_version(text)
    assert refusal is not None
    assert why in refusal


def test_images_are_judged_by_tag_and_version() -> None:
    assert judge_image("innobrim/mysql:9.7", []) is None
    assert judge_image("mysql:8.0", ["PATH=/bin", "MYSQL_VERSION=8.0.42-1.el9"]) is None
    assert "8.0.28" in (judge_image("mysql:8.0", ["MYSQL_VERSION=8.0.28-1debian10"]) or "")
    assert "not supported yet" in (judge_image("percona/percona-server:8.0", []) or "")
    assert "not one of" in (judge_image("mysql:5.7", []) or "")


def test_without_sysbench_there_is_no_real_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    found = chooser.choose()
    assert found.kind == "none"
    assert "sysbench" in str(found.refusals[0])
    with pytest.raises(ValueError, match="no load driver"):
        found.server()


def test_an_image_is_preferred_over_a_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(chooser, "_image", lambda _refusals, *, pull: None if pull else "mysql:8.4")
    assert chooser.choose().name == "mysql:8.4"
    monkeypatch.setattr(chooser, "_local", lambda _refusals: "/usr/sbin/mysqld")
    assert chooser.choose(pull=True).kind == "local"
