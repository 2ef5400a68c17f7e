"""How a finding is printed."""

from __future__ import annotations

from tuner.cli.answer import say
from tuner.findings.finding import Finding


def show(finding: Finding) -> None:
    """Print one finding: id and title, why, what to expect and by whose word, what it costs, how, SQL."""
    say(f"[{finding.id}] {finding.title}")
    parts = {
        "why": finding.reason,
        "expect": "; ".join(filter(None, (finding.effect, finding.source))),
        "risk": finding.risk,
        "how": finding.fix,
    }
    for name, words in parts.items():
        if words:
            say(f"  {name + ':':7} {words}")
    for statement in finding.sql:
        say(f"          {statement}{';' if statement.startswith('SET ') else ''}")
