"""What a person should know or do, as advise and the API say it; a line of check is met or not: ``Line``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Severity = Literal["info", "warning", "problem"]
"""info: good to know; warning: works, but worse than it could; problem: control is impossible or unsafe."""


class Finding(Struct, frozen=True):
    """One finding, with its reason and its way out."""

    id: Annotated[str, Meta(description="stable name of this kind of finding")]
    severity: Annotated[Severity, Meta(description="info, warning or problem")]
    title: Annotated[str, Meta(description="the finding in a few words")]
    reason: Annotated[str, Meta(description="the figures or facts it follows from")]
    effect: Annotated[
        str, Meta(description="what to expect once it is followed; empty where nothing changes")
    ] = ""
    fix: Annotated[str, Meta(description="what to do, in words; empty where nothing is to be done")] = ""
    sql: Annotated[
        tuple[str, ...], Meta(description="statements to paste, in order; a managed server's command instead")
    ] = ()
