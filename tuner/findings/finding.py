"""What a person should know or do about a server, in the one type of check, advise, doctor and the API."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Severity = Literal["ok", "untested", "info", "warning", "problem"]
"""ok: looked at, and fine; untested: not tried, or not to be seen, and the title says why; info: good to
know; warning: works, but worse than it could; problem: control is impossible or unsafe."""


class Finding(Struct, frozen=True):
    """One finding, with its evidence and its way out."""

    id: Annotated[str, Meta(description="stable name of this kind of finding")]
    severity: Annotated[
        Severity, Meta(description="info, warning or problem; ok and untested in check alone")
    ]
    title: Annotated[str, Meta(description="the finding in a few words")]
    reason: Annotated[
        str, Meta(description="the figures or facts it follows from; empty where the title has them")
    ] = ""
    effect: Annotated[
        str, Meta(description="what to expect once it is followed; empty where nothing changes")
    ] = ""
    source: Annotated[
        str, Meta(description="where the effect was measured, or from whom it is known; empty: from reason")
    ] = ""
    risk: Annotated[
        str, Meta(description="what following it costs, or may; empty where nothing is known")
    ] = ""
    fix: Annotated[str, Meta(description="what to do, in words; empty where nothing is to be done")] = ""
    sql: Annotated[
        tuple[str, ...], Meta(description="statements to paste, in order; a managed server's command instead")
    ] = ()
