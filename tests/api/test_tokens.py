"""The register of tokens: what is stored, and how a running daemon takes a change."""

from __future__ import annotations

import hashlib
import itertools
import stat
import threading
import time
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from api.tokens import (
    LOOK_SECONDS,
    NAME,
    Role,
    TokenError,
    Tokens,
    let_anonymous_read,
    load,
    locked,
    make,
    prepare,
    revoke,
)


class Watch:
    """A clock that is set by hand, and a register looked at by it."""

    def __init__(self, path: Path) -> None:
        self.now = 5.0
        self.wall = time.time()
        self.tokens = Tokens(path, monotonic=lambda: self.now, wall=lambda: self.wall)


def mode(path: Path) -> int:
    """Return a file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_first_start_writes_one_token_privately(tmp_path: Path) -> None:
    """The first start writes a private token that may operate, and later starts keep it."""
    path = prepare(tmp_path)
    secret = (tmp_path / "token").read_text().strip()
    found = Tokens(path).find(secret)

    assert found is not None
    assert (found.name, found.role, found.expires) == ("first", Role.OPERATE, None)
    assert len(secret) >= 43
    assert (mode(path), mode(tmp_path / "token")) == (0o600, 0o600)
    before = path.read_bytes()
    prepare(tmp_path)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["token", NAME]


@pytest.mark.parametrize("register", [None, "{"], ids=["an earlier version's", "beside a damaged register"])
def test_a_secret_that_others_hold_keeps_working(tmp_path: Path, register: str | None) -> None:
    """A token file without a register, or whose register had to be removed, becomes the first token again."""
    (tmp_path / "token").write_text("x" * 43 + "\n")
    (tmp_path / "token").chmod(0o600)
    if register is not None:
        (tmp_path / NAME).write_text(register)
        (tmp_path / NAME).chmod(0o600)
        with pytest.raises(TokenError, match="remove it"):
            prepare(tmp_path)
        (tmp_path / NAME).unlink()

    found = Tokens(prepare(tmp_path)).find("x" * 43)

    assert found is not None
    assert (found.name, found.role) == ("first", Role.OPERATE)
    assert (tmp_path / "token").read_text() == "x" * 43 + "\n"


def test_a_token_fits_in_every_digit_of_its_hash(tmp_path: Path) -> None:
    """Who has a secret whose hash differs from a token's in a single digit is nobody."""
    path = prepare(tmp_path)
    secret = make(tmp_path, "oncall", Role.OPERATE, expires=None)
    digest, text = hashlib.sha256(secret.encode()).hexdigest(), path.read_text()
    assert Tokens(path).find(secret) is not None
    for place in range(64):
        near = digest[:place] + ("0" if digest[place] != "0" else "1") + digest[place + 1 :]
        path.write_text(text.replace(digest, near))

        assert Tokens(path).find(secret) is None, place


@pytest.mark.parametrize("others", [0o020, 0o002, 0o022, 0o060, 0o066])
def test_a_register_that_others_may_write_is_refused(tmp_path: Path, others: int) -> None:
    """Neither a group nor everybody may write who is let in; then nobody is."""
    path = prepare(tmp_path)
    secret = (tmp_path / "token").read_text().strip()
    path.chmod(0o600 | others)

    with pytest.raises(TokenError, match="can be written by others"):
        load(path)
    assert Tokens(path).find(secret) is None
    assert not Tokens(path).anonymous


def test_a_volume_that_kubernetes_gives_to_a_group_is_taken_at_the_next_start(tmp_path: Path) -> None:
    """With fsGroup each mount makes directory and files writable for the group, which is the daemon's."""
    prepare(tmp_path)
    tmp_path.chmod(0o2770)
    for file in tmp_path.iterdir():
        file.chmod(file.stat().st_mode | 0o660)
    assert load(prepare(tmp_path)).named("first") is not None
    (tmp_path / "tokens.json").chmod(0o666)

    with pytest.raises(TokenError, match="can be written by others"):
        load(tmp_path / "tokens.json")


@pytest.mark.parametrize("others", [0o000, 0o040, 0o044])
def test_a_register_that_others_may_only_read_is_taken(tmp_path: Path, others: int) -> None:
    """A hash tells nobody the token."""
    path = prepare(tmp_path)
    path.chmod(0o600 | others)

    assert load(path).named("first") is not None


def test_two_hundred_tokens_are_the_most(tmp_path: Path) -> None:
    """So many are read whole, whatever their names, and one more is refused."""
    path = prepare(tmp_path)
    named = tuple(replace(load(path).tokens[0], name=f"{at:a>64}", expires=1e9) for at in range(199))
    path.write_bytes(msgspec.json.encode(replace(load(path), tokens=named)))
    secret = make(tmp_path, "last", Role.READ, expires=None)

    assert Tokens(path).find(secret) is not None
    with pytest.raises(TokenError, match="there are 200 tokens, the most there can be"):
        make(tmp_path, "more", Role.READ, expires=None)


def test_no_secret_is_stored(tmp_path: Path) -> None:
    """The register has the hash of a token, and the token itself nowhere."""
    path = prepare(tmp_path)
    secret = make(tmp_path, "oncall", Role.OPERATE, expires=None)

    for file in tmp_path.iterdir():
        assert secret not in file.read_text()
    assert hashlib.sha256(secret.encode()).hexdigest() in path.read_text()
    assert mode(path) == 0o600


def test_running_daemon_takes_a_change_within_a_second(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A token counts, or does no longer, from the next look on, not before, and the log names it."""
    caplog.set_level("INFO")
    watch = Watch(prepare(tmp_path))
    secret = make(tmp_path, "oncall", Role.OPERATE, expires=None)
    watch.now += 0.9
    assert watch.tokens.find(secret) is None

    watch.now += 5.0
    assert watch.tokens.find(secret) is not None

    revoke(tmp_path, "oncall")
    make(tmp_path, "grafana", Role.READ, expires=None)
    watch.now += 1.0
    assert watch.tokens.find(secret) is None
    assert [one.getMessage() for one in caplog.records] == [
        "tokens changed: revoked -; new oncall",
        "tokens changed: revoked oncall; new grafana",
    ]


@pytest.mark.parametrize(("role", "needed"), list(itertools.product(Role, Role)))
def test_who_may_operate_may_read_and_not_the_other_way_round(role: Role, needed: Role) -> None:
    """A token for reading is refused a change, and nothing else is refused for its role."""
    assert role.covers(needed) is ((role, needed) != (Role.READ, Role.OPERATE))


def test_requests_do_not_read_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask, the file is looked at once a second at most, and read when it has changed."""
    watch = Watch(prepare(tmp_path))
    looked: list[Path] = []
    stat_of = Path.stat

    def seen(path: Path, **how: bool) -> object:
        looked.append(path)
        return stat_of(path, **how)

    monkeypatch.setattr(Path, "stat", seen)
    monkeypatch.setattr("api.tokens.load", lambda _path: pytest.fail("read without a change"))
    for _ in range(1000):
        watch.tokens.find("wrong")
        watch.now += LOOK_SECONDS / 100

    assert len(looked) <= 10


def test_token_expires_by_itself(tmp_path: Path) -> None:
    """A token with an expiry is told apart from a wrong one when its time is over."""
    watch = Watch(prepare(tmp_path))
    secret = make(tmp_path, "weekend", Role.READ, expires=watch.wall + 60)
    watch.now += LOOK_SECONDS

    found = watch.tokens.find(secret)
    assert found is not None
    assert not watch.tokens.expired(found)
    watch.wall += 60
    assert watch.tokens.expired(found)


@pytest.mark.parametrize(
    "damage",
    [
        "gone",
        "open to write",
        "rubbish",
        "another version",
        "a version before the first",
        "more than we know",
        "more of a token",
    ],
)
def test_nobody_is_let_in_by_a_register_that_cannot_be_read(tmp_path: Path, damage: str) -> None:
    """A register that goes bad under a running daemon opens nothing, reading without a token neither."""
    watch = Watch(prepare(tmp_path))
    path, secret = tmp_path / NAME, (tmp_path / "token").read_text().strip()
    assert watch.tokens.find(secret) is not None
    if damage == "gone":
        path.unlink()
    elif damage == "open to write":
        path.write_bytes(path.read_bytes() + b"\n")
        path.chmod(0o666)
    else:
        old, new = {
            "rubbish": ("{", "["),
            "another version": ('"version": 1', '"version": 2'),
            "a version before the first": ('"version": 1', '"version": 0'),
            "more than we know": ('"version": 1', '"version": 1, "groups": []'),
            "more of a token": ('"name": ', '"group": "", "name": '),
        }[damage]
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    watch.now += LOOK_SECONDS

    assert watch.tokens.find(secret) is None
    assert not watch.tokens.anonymous


def test_reading_without_a_token_can_be_closed(tmp_path: Path) -> None:
    """Reading is open at first; closing and opening it again outlive the daemon."""
    path = prepare(tmp_path)
    assert Tokens(path).anonymous

    let_anonymous_read(tmp_path, allowed=False)
    assert not Tokens(path).anonymous
    with pytest.raises(TokenError, match="closed already"):
        let_anonymous_read(tmp_path, allowed=False)
    let_anonymous_read(tmp_path, allowed=True)
    assert Tokens(path).anonymous


def test_names_are_unique_and_plain(tmp_path: Path) -> None:
    """A name is given once, and is one word that an event can carry."""
    prepare(tmp_path)
    make(tmp_path, "oncall", Role.READ, expires=None)

    with pytest.raises(TokenError, match="called oncall already"):
        make(tmp_path, "oncall", Role.READ, expires=None)
    for name in ("", "-x", "two words", "line\n", "x" * 65, "ä"):
        with pytest.raises(TokenError, match="is no name"):
            make(tmp_path, name, Role.READ, expires=None)
    with pytest.raises(TokenError, match="no token is called nobody; there are: first, oncall"):
        revoke(tmp_path, "nobody")


@pytest.mark.parametrize(("name", "stays"), [("first", False), ("alpha", True), ("zeta", True)])
def test_revoking_the_first_removes_its_file(tmp_path: Path, name: str, stays: bool) -> None:  # noqa: FBT001 - a case
    """The file with the first token's secret goes with that token alone, and no start brings it back."""
    path = prepare(tmp_path)
    if stays:
        make(tmp_path, name, Role.READ, expires=None)
    revoke(tmp_path, "".join(list(name)))
    prepare(tmp_path)

    assert (tmp_path / "token").exists() is stays
    assert [one.name for one in load(path).tokens] == ["first"] * stays


def test_unusable_files_are_refused_with_what_to_do(tmp_path: Path) -> None:
    """A token that everybody can read, a short one, or no directory, ends the start with what to do."""
    path = tmp_path / "token"
    for secret, mode, said in (("x" * 31, 0o600, "holds no token"), ("x" * 43, 0o644, "open to everybody")):
        path.write_text(secret)
        path.chmod(mode)
        with pytest.raises(TokenError, match=said):
            prepare(tmp_path)
    with pytest.raises(TokenError, match="cannot be used: No such file or directory"):
        prepare(tmp_path / "missing")
    with pytest.raises(TokenError, match="cannot be changed: No such file or directory; run this as the"):
        revoke(tmp_path / "missing", "first")

    path.chmod(0o640)
    path.write_text("x" * 32)
    assert Tokens(prepare(tmp_path)).find("x" * 32) is not None


def test_half_written_change_leaves_the_old_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that fails half-way leaves every token as it was, and no draft behind."""
    path = prepare(tmp_path)
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(TokenError, match="No space left"):
        make(tmp_path, "oncall", Role.READ, expires=None)

    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["token", NAME]


def test_a_writer_that_never_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change gives up with the reason where another one takes too long."""
    prepare(tmp_path)
    monkeypatch.setattr("api.tokens.LOCK_SECONDS", 0.1)
    begun = time.monotonic()

    with locked(tmp_path), pytest.raises(TokenError, match="another program holds the lock"):
        make(tmp_path, "oncall", Role.READ, expires=None)
    assert time.monotonic() - begun >= 0.1


def test_a_change_waits_for_another_one(tmp_path: Path) -> None:
    """Two changes at a time both are made."""
    path = prepare(tmp_path)
    other = threading.Thread(target=make, args=(tmp_path, "oncall", Role.READ), kwargs={"expires": None})
    with locked(tmp_path):
        other.start()
        time.sleep(0.15)
        assert load(path).named("oncall") is None
    other.join()

    assert load(path).named("oncall") is not None
