"""``innobrim policies``: the decision laws that can be asked for."""

from __future__ import annotations

import click
import msgspec

from api.views import Policies, policies_of
from policies.catalogue import About


@click.command(epilog="Example: innobrim policies")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def policies(*, as_json: bool) -> None:
    """List the decision laws: what each does, when to use it, and the constants that it decides by."""
    found = policies_of()
    click.echo(msgspec.json.encode(found) if as_json else "\n".join(_told(found)))


def _told(found: Policies) -> list[str]:
    """Return the laws in lines for people."""
    lines: list[str] = []
    for one in found.policies:
        lines += [_heading(one, found.default), f"  {one.does}", f"  use: {one.use}"]
        lines.append(f"  needs: {f'pip install innobrim[{one.extra}]' if one.extra else 'nothing more'}")
        lines += [
            f"    {constant.name:<20}{constant.value:>6g} {constant.unit:<2}{constant.meaning}"
            for constant in one.constants
        ]
    return lines


def _heading(one: About, default: str) -> str:
    """Return a law's name, and whether it can be asked for."""
    if one.by_itself:
        return f"{one.name} (cannot be asked for)"
    return f"{one.name} (the default)" if one.name == default else one.name
