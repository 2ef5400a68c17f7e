"""An account as people and servers write it, and what becomes a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.factory import FACTS
from tests.servers.injected import EVIL
from tuner.records import account_of, grant, is_account, is_local, login


@pytest.mark.parametrize(
    ("written", "account"),
    [
        ("innobrim@10.0.0.5", "innobrim@10.0.0.5"),
        ("'innobrim'@'localhost'", "innobrim@localhost"),
        ("`innobrim`@`%`", "innobrim@%"),
        ('"innobrim"@"localhost"', "innobrim@localhost"),
        ("'innobrim'@localhost", "innobrim@localhost"),
        ("innobrim@`10.0.0.0/255.255.255.0`", "innobrim@10.0.0.0/255.255.255.0"),
        ("innobrim@::1", "innobrim@::1"),
        ("'it''s'@'h'", "it's@h"),
        ("`a``b`@`h`", "a`b@h"),
        ("'a@b'@'h'", "a@b@h"),
        ("my user@h", "my user@h"),
    ],
)
def test_an_account_is_read_however_it_is_quoted(written: str, account: str) -> None:
    """What SHOW GRANTS prints can be pasted, and so can what people type."""
    assert account_of(written) == account


@pytest.mark.parametrize("written", EVIL)
def test_what_is_no_account_is_refused(written: str) -> None:
    """Nothing that ends a line or a quote, and nothing without a user or a host."""
    with pytest.raises(ValueError, match="no account"):
        account_of(written)


@given(st.text(), st.text())
def test_an_account_stays_inside_its_quotes(user: str, host: str) -> None:
    """Whatever passes as an account is two literals of a statement, with nothing after them."""
    account = f"{user}@{host}"
    if not is_account(account):
        return
    statement = grant("PROCESS", account)

    assert statement.isprintable()
    assert "\\" not in statement
    bare = statement.removeprefix("GRANT PROCESS ON *.* TO ").replace("''", "")
    assert bare.count("'") == (2 if login(account).startswith("''") else 4)


@pytest.mark.parametrize("said", [one for one in EVIL if "@" in one and "'" not in one])
def test_a_servers_own_name_of_an_account_is_printed_only_where_it_is_one(said: str) -> None:
    """Where the server says what is no account, the statement has our own name and leaves the host open."""
    facts = replace(FACTS, account=said, endpoint="tuner@127.0.0.1:3306")

    assert facts.grant("PROCESS") == "GRANT PROCESS ON *.* TO 'tuner'@'…'"


@pytest.mark.parametrize(
    ("account", "local"),
    [
        ("a@localhost", True),
        ("a@127.0.0.1", True),
        ("a@::1", True),
        ("a@%", False),
        ("a@10.0.0.5", False),
        ("a@db1", False),
        ("a@localhost.example", False),
    ],
)
def test_an_account_of_this_machine_is_told_from_others(account: str, *, local: bool) -> None:
    """Only an account whose password crosses no network is this machine's."""
    assert is_local(account) is local
