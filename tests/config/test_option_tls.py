"""What an option file says of encryption is obeyed, or refused by name."""

from __future__ import annotations

import shutil
import ssl
from pathlib import Path

import pytest

from tests.config.support import OptionFile
from tests.servers.sockets.mysqld import CERTIFICATES
from tuner.servers.endpoint import required

CA = CERTIFICATES / "ca.crt"
KEY = CERTIFICATES / "named.key"
CERTIFICATE = CERTIFICATES / "named.crt"


def lines_of(*lines: str) -> str:
    """Return an option file with these lines in its [client] group."""
    return "\n".join(("[client]", "user=u", "host=127.0.0.1", *lines)) + "\n"


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ((), "preferred"),
        (("ssl-mode=DISABLED",), "off"),
        (("ssl-mode=preferred",), "preferred"),
        (("ssl_mode = REQUIRED",), "required"),
        (("loose-ssl-mode=REQUIRED",), "required"),
        (("loose_ssl_mode=REQUIRED",), "required"),
        (("ssl-mode=VERIFY_CA", f"ssl-ca={CA}"), "verify_ca"),
        (("ssl-mode=VERIFY_IDENTITY", f"ssl-ca={CA}"), "verify_identity"),
        (("ssl-mode=REQUIRED", f"ssl-ca={CA}"), "verify_ca"),
        ((f"ssl-ca={CA}",), "verify_ca"),
        ((f"loose-ssl_ca={CA}",), "verify_ca"),
        (("ssl-verify-server-cert", f"ssl-ca={CA}"), "verify_identity"),
        (("ssl-verify-server-cert=ON", f"ssl-ca={CA}"), "verify_identity"),
        (("skip-ssl-verify-server-cert", f"ssl-ca={CA}"), "verify_ca"),
        (("disable_ssl_verify_server_cert",), "preferred"),
        (("ssl",), "required"),
        (("ssl=1",), "required"),
        (("enable-ssl",), "required"),
        (("ssl=0",), "off"),
        (("skip-ssl",), "off"),
        (("loose-skip-ssl",), "off"),
        (("disable-ssl",), "off"),
        (("skip-ssl=0",), "required"),
        (("ssl", "skip-ssl"), "off"),
        (("skip-ssl", "ssl", "ssl-mode=REQUIRED"), "required"),
        (("ssl-mode=DISABLED", "ssl-mode=REQUIRED"), "required"),
        ((f"ssl-cert={CERTIFICATE}", f"ssl-key={KEY}"), "preferred"),
    ],
)
def test_what_mysql_would_do_is_done(options: OptionFile, lines: tuple[str, ...], mode: str) -> None:
    """Each way to write how much encryption is wanted, in MySQL's and in MariaDB's words, is understood."""
    found = options.read(lines_of(*lines))

    assert found.tls == mode
    assert found.tls_ca == (str(CA) if mode.startswith("verify") else None)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (("ssl-mode=VERIFY_CA", "ssl-ca=/no/such/ca.pem"), "ssl-ca = /no/such/ca.pem: no such file"),
        (("ssl-ca=/",), "ssl-ca = /: a directory"),
        (("ssl-capath=/no/such",), "ssl-capath = /no/such: no such file"),
        ((f"ssl-capath={CA}",), f"ssl-capath = {CA}: no directory"),
        ((f"ssl-capath={CERTIFICATES}",), f"ssl-capath = {CERTIFICATES}: no certificate by its hash"),
        (("ssl-cert=/no/such.pem",), "ssl-cert = /no/such.pem: no such file"),
        ((f"ssl-cert={CERTIFICATE}",), f"ssl-cert = {CERTIFICATE}: no certificate with its key"),
        (
            (f"ssl-cert={CERTIFICATE}", f"ssl-key={CERTIFICATES / 'nameless.key'}"),
            "nameless.key: no certificate with its key",
        ),
        ((f"ssl-key={KEY}",), f"ssl-key = {KEY}: needs ssl-cert"),
        (("ssl-cipher=NONE-SUCH",), "ssl-cipher = NONE-SUCH: no cipher"),
        (("ssl-cipher=aNULL",), "ssl-cipher = aNULL: no cipher"),
        (("tls-version=TLSv1,TLSv1.1",), "tls-version = TLSv1,TLSv1.1: must name TLSv1.2 or TLSv1.3"),
        (("tls-version=TLSv1.2,SSLv3",), "tls-version = TLSv1.2,SSLv3: must name"),
        (("tls-version=",), "tls-version: has no value"),
        (("ssl-mode=VERIFY",), "ssl-mode = VERIFY: must be one of DISABLED, PREFERRED"),
        (("ssl-mode",), "ssl-mode: has no value"),
        (("ssl=maybe",), "ssl = maybe: must be 1 or 0"),
        (("skip-ssl-ca=/x",), "skip-ssl-ca = /x: InnoBrim cannot obey it"),
        (("ssl-crl=/x",), "ssl-crl = /x: InnoBrim cannot obey it"),
        (("tls_ciphersuites=x",), "tls-ciphersuites = x: InnoBrim cannot obey it"),
        (("loose-ssl-fp=x",), "ssl-fp = x: InnoBrim cannot obey it"),
        (("SSL-MODE=VERIFY_CA",), "SSL-MODE = VERIFY_CA: InnoBrim cannot obey it"),
        (("ssl-verify-server-cert",), "ssl-verify-server-cert needs ssl-ca"),
        (("ssl-mode=VERIFY_CA",), "ssl-mode = VERIFY_CA needs ssl-ca"),
        (("skip-ssl", f"ssl-ca={CA}"), f"ssl = 0 (skip-ssl) contradicts ssl-ca = {CA}"),
        (("ssl-mode=PREFERRED", f"ssl-ca={CA}"), f"ssl-mode = PREFERRED contradicts ssl-ca = {CA}"),
        (("ssl=0", "ssl-mode=REQUIRED"), "ssl = 0 (skip-ssl) contradicts ssl-mode = REQUIRED"),
        (
            ("ssl-verify-server-cert=0", "ssl-mode=VERIFY_IDENTITY", f"ssl-ca={CA}"),
            "ssl-verify-server-cert = 0 contradicts ssl-mode = VERIFY_IDENTITY",
        ),
        (("server-public-key-path=/no/such",), "server-public-key-path = /no/such: no such file"),
        ((f"server-public-key-path={CA}",), f"server-public-key-path = {CA}: no public key in it"),
        (("ssl-ca=a\0b",), "line 4: ssl-ca: has a zero byte"),
        (("ssl-capath=\0",), "line 4: ssl-capath: has a zero byte"),
        (("ssl-cipher=AES\0",), "line 4: ssl-cipher: has a zero byte"),
        (("server_public_key_path=\0",), "line 4: server-public-key-path: has a zero byte"),
        (("password=sec\0ret",), "line 4: password: has a zero byte"),
        (("ssl-cipher=\udcff",), r"ssl-cipher = \udcff: no cipher"),
    ],
)
def test_what_cannot_be_obeyed_is_refused_by_name(
    options: OptionFile, lines: tuple[str, ...], named: str
) -> None:
    """An option that cannot be obeyed, or contradicts another, ends the command with file, name and value."""
    problem = options.refused(lines_of(*lines))

    assert named in problem
    assert "my.cnf: " in problem


def test_a_file_of_authorities_may_be_a_directory(options: OptionFile, tmp_path: Path) -> None:
    """ssl-capath is taken where OpenSSL would find something in it."""
    shutil.copy(CA, tmp_path / "0a1b2c3d.0")
    found = options.read(lines_of(f"ssl-capath={tmp_path}"))

    assert (found.tls, found.tls_ca, found.tls_details.authorities) == ("verify_ca", None, str(tmp_path))
    context = required(found.tls_ca, found.tls_details, host_name=False)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname


@pytest.mark.parametrize(
    ("versions", "lowest", "highest"),
    [
        ("TLSv1.2", "TLSv1_2", "TLSv1_2"),
        ("TLSv1.3", "TLSv1_3", "TLSv1_3"),
        ("TLSv1.1, TLSv1.2 ,tlsv1.3", "TLSv1_2", "TLSv1_3"),
        ("TLSv1,TLSv1.3", "TLSv1_3", "TLSv1_3"),
    ],
)
def test_versions_ciphers_and_our_certificate_are_used(
    options: OptionFile, versions: str, lowest: str, highest: str
) -> None:
    """tls-version, ssl-cipher, ssl-cert and ssl-key are the connection's; no version is older than 1.2."""
    cipher = "ECDHE-RSA-AES256-GCM-SHA384"
    lines = (f"tls-version={versions}", f"ssl-cipher={cipher}", f"ssl-cert={CERTIFICATE}", f"ssl-key={KEY}")
    context = required(None, options.read(lines_of(*lines)).tls_details)

    assert (context.minimum_version.name, context.maximum_version.name) == (lowest, highest)
    old = {one["name"] for one in context.get_ciphers() if one["protocol"] != "TLSv1.3"}
    assert old == {cipher}


@pytest.mark.parametrize(
    ("ours", "lines", "mode", "authority"),
    [
        ({"tls": "off"}, (), "off", None),
        ({"tls": "required"}, ("ssl-mode=PREFERRED",), "required", None),
        (
            {"tls": "required", "tls_ca": str(CA)},
            ("ssl-mode=VERIFY_IDENTITY", "ssl-ca={other}"),
            "verify_identity",
            CA,
        ),
        ({"tls": "verify_ca", "tls_ca": str(CA)}, ("ssl-ca={other}",), "verify_ca", CA),
        ({"tls": "verify_ca"}, (f"ssl-ca={CA}",), "verify_ca", CA),
        ({"tls": "verify_identity"}, (f"ssl-ca={CA}",), "verify_identity", CA),
        ({"tls": "verify_ca", "tls_ca": str(CA)}, ("skip-ssl",), "verify_ca", CA),
    ],
)
def test_our_own_settings_win(
    options: OptionFile, ours: dict[str, str], lines: tuple[str, ...], mode: str, authority: Path | None
) -> None:
    """What the configuration says counts, and the option file fills in what it leaves out."""
    other = CERTIFICATES / "other.crt"
    found = options.read(lines_of(*(line.format(other=other) for line in lines)), **ours)

    assert found.tls == mode
    assert found.tls_ca == (None if authority is None else str(authority))


@pytest.mark.parametrize(
    ("tls", "lines", "named"),
    [
        ("off", ("ssl-mode=REQUIRED",), "ssl-mode = REQUIRED"),
        ("off", ("ssl",), "ssl"),
        ("preferred", ("ssl-mode=REQUIRED",), "ssl-mode = REQUIRED"),
        ("required", (f"ssl-ca={CA}",), f"ssl-ca = {CA}"),
        ("verify_ca", ("ssl-mode=VERIFY_IDENTITY", f"ssl-ca={CA}"), "ssl-mode = VERIFY_IDENTITY"),
    ],
)
def test_our_own_settings_weaken_nothing(
    options: OptionFile, tls: str, lines: tuple[str, ...], named: str
) -> None:
    """Less encryption than the option file asks for is an error that names both, and not what happens."""
    problem = options.refused(lines_of(*lines), tls=tls)

    assert problem.startswith(f"server.tls = {tls} contradicts {named} in ")


@pytest.mark.parametrize("group", ["client-mariadb", "client-server", "CLIENT-MARIADB", " client-server "])
@pytest.mark.parametrize("first", [False, True])
def test_every_group_that_mariadbs_clients_read_is_obeyed(
    options: OptionFile, group: str, *, first: bool
) -> None:
    """What asks for encryption beside a [client] group counts as if it stood in it, wherever it stands."""

    def text(*lines: str, more: str = "") -> str:
        parts = ["[client]\nuser=u\nhost=db1\n" + more, "\n".join((f"[{group}]", *lines)) + "\n"]
        return "".join(reversed(parts) if first else parts)

    found = options.read(text(f"ssl-ca={CA}", "ssl-verify-server-cert"))
    assert (found.user, found.host, found.tls, found.tls_ca) == ("u", "db1", "verify_identity", str(CA))
    assert options.read(text("ssl-verify-server-cert", more=f"ssl-ca={CA}\n")).tls == "verify_identity"
    assert options.read(text("skip-ssl")).tls == "off"
    assert options.read(text("user=other", "host=other")).user == "u"
    assert "ssl-ca = /no/such: no such file" in options.refused(text("ssl-ca=/no/such"))
    assert "InnoBrim cannot obey it" in options.refused(text("ssl-fp=x"))
    assert "contradicts" in options.refused(text(f"ssl-ca={CA}", more="ssl-mode=DISABLED\n"))


@pytest.mark.parametrize("group", ["mysql", "mariadb-client", "client-mysql", "clients", "mysqld", "mariadb"])
def test_a_group_of_somebody_else_is_not_obeyed(options: OptionFile, group: str) -> None:
    """What one program or the server has for itself is none of ours."""
    assert options.read(f"[client]\nuser=u\nhost=db1\n[{group}]\nssl-ca=/no/such\n").tls == "preferred"


def test_a_check_needs_something_to_check_against(options: OptionFile) -> None:
    """verify_ca without an authority anywhere is refused with the key that is missing."""
    assert options.refused(lines_of(), tls="verify_ca").startswith("server.tls = verify_ca needs tls_ca")


def test_an_option_that_would_give_something_away_is_said_to_have_no_effect(options: OptionFile) -> None:
    """Who lets the server send its key, or clear text pass, reads that neither is done."""
    found = options.read(lines_of("get-server-public-key", "enable-cleartext-plugin=1"))
    names = [warning.partition(": ")[2].partition(" has no effect: ")[0] for warning in found.warnings]

    assert names == ["get-server-public-key", "enable-cleartext-plugin"]
    off = lines_of("get-server-public-key=0", "loose-enable-cleartext-plugin=OFF")
    assert options.read(off).warnings == ()


def test_the_servers_public_key_is_read(options: OptionFile, tmp_path: Path) -> None:
    """server-public-key-path gives the key that passwords are encrypted with."""
    key = tmp_path / "public_key.pem"
    key.write_text("-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n")

    assert options.read(lines_of(f"server-public-key-path={key}")).public_key == key.read_text()
