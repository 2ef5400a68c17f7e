"""What a reload makes of the password."""

from __future__ import annotations

from pathlib import Path

from tuner.cli.run import _with_password
from tuner.config.schema import Config, ServerSection
from tuner.servers.endpoint import Endpoint


def test_a_reload_reads_the_password_and_keeps_the_old_one_where_it_cannot(tmp_path: Path) -> None:
    """A renewed option file counts at a reload; one that is gone is told, and the daemon keeps its login."""
    file = tmp_path / "my.cnf"
    file.write_text("[client]\npassword = renewed\nhost = elsewhere\n", encoding="utf-8")
    config = Config(server=ServerSection(defaults_file=str(file)))
    old = Endpoint(user="innobrim", host="127.0.0.1", port=3306, password="old")

    new = _with_password(old, config)
    assert (new.password, new.host) == ("renewed", "127.0.0.1")
    file.unlink()
    assert _with_password(new, config) == new
