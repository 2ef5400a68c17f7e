"""What somebody may put in the place of an account or a version, to get a line or a quote through."""

from __future__ import annotations

EVIL = (
    "innobrim\nDROP DATABASE x@localhost",
    "innobrim@localhost\nDROP DATABASE x",
    "innobrim@local host",
    "innobrim\\@localhost",
    "innobrim@localhost\\",
    "'innobrim@localhost",
    "'inno'brim'@'localhost'",
    "innobrim@'localhost' IDENTIFIED BY 'x'",
    "innobrim@localhost;",
    "\x1b[2J@localhost",
    "innobrim@",
    "@localhost",
    "innobrim",
    "",
    f"{'x' * 200}@localhost",
)
"""Texts that are no account."""

INJECTED = (
    "9.7.4\nCREATE USER 'evil'@'%' IDENTIFIED BY 'x';",
    "9.7.4\r\nDROP DATABASE mysql;",
    "9.7.4\u2028CREATE USER evil",
    "9.7.4\x85SELECT 1",
    "9.7.4\x0bSELECT 1",
    "9.7.4\x00",
    "9.7.4\n",
    "9.7.4; CREATE USER evil",
    "9.7.4' OR '1",
    "9.7.4`x`",
    "9.7.4 */ SELECT 1 /*",
    "9.7.4\\",
    "9.7.4|page",
    "9.7.4<b>",
    "9.7.4\x1b[2J",
    "9.7.4\x9b2J",
    "9.7.4$(id)",
    f"9.7.4-{'x' * 200}",
    "٩.٧.٤",
    "new",
    "",
    "9",
)
"""Texts that are no version."""
