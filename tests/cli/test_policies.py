"""``innobrim policies``: the list."""

from __future__ import annotations

import json

from click.testing import CliRunner

from policies.catalogue import CATALOGUE
from tuner.cli.main import cli
from tuner.settings import Settings


def test_every_law_is_listed_with_its_constants() -> None:
    """The list has each law's name, line, use and constants, and says which is the default."""
    found = CliRunner().invoke(cli, ["policies"])

    assert found.exit_code == 0
    assert f"{Settings().policy} (the default)" in found.stdout
    for one in CATALOGUE:
        assert one.does in found.stdout
        assert one.use in found.stdout
        assert all(constant.name in found.stdout for constant in one.constants)


def test_the_list_is_there_for_machines() -> None:
    """--json prints the same as one object, in the form of GET /v1/policies."""
    found = json.loads(CliRunner().invoke(cli, ["policies", "--json"]).stdout)

    assert found["default"] == Settings().policy
    assert found["in_force"] == ""
    assert [one["name"] for one in found["policies"]] == [one.name for one in CATALOGUE]
    assert {"does", "use", "extra", "by_itself", "constants"} <= set(found["policies"][0])
