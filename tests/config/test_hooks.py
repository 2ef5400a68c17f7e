"""The hooks in the configuration file: what is taken, and what is said of one that is wrong."""

from __future__ import annotations

import pytest

from tests.config.support import Given
from tuner.config.hooks import MOST_HOOKS, shown, without_secrets
from tuner.config.keys import ARRAYS, KEYS
from tuner.config.schema import HookTable

GOOD = """
[[hook]]
name = "pager"
url = "https://alerts.example.com:8443/innobrim?a=b"
on = ["hold", "emergency"]
secret_file = "/etc/innobrim/hook-pager"
timeout = 5
"""
COMMAND = '[[hook]]\nname = "local"\ncommand = ["/usr/bin/logger", "-t", "innobrim"]\n'


def test_hooks_are_read_from_the_file(given: Given) -> None:
    """Each table becomes a hook, which is told of everything where it does not say of what."""
    assert given.load(GOOD + COMMAND).hook == (
        HookTable(
            "pager",
            url="https://alerts.example.com:8443/innobrim?a=b",
            on=("hold", "emergency"),
            secret_file="/etc/innobrim/hook-pager",
            timeout=5.0,
        ),
        HookTable("local", command=("/usr/bin/logger", "-t", "innobrim")),
    )
    assert given.load(COMMAND).hook[0].on == ("hold", "emergency", "mode", "baseline")


def test_hooks_have_no_plain_key(given: Given) -> None:
    """No variable and no flag sets a part of one."""
    assert not any(key.section == "hook" for key in KEYS.values())
    assert set(ARRAYS["hook"]) == set(HookTable.__struct_fields__)
    (said,) = given.refused("", {"INNOBRIM_HOOK_URL": "x"})
    assert said.endswith("a hook stands in the configuration file alone, as a table [[hook]]")


HTTPS = "must be such as https://alerts.example.com/innobrim"
URL = "https://alerts.example.com:8443/innobrim?a=b"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("url =", "ur =", '[1] "pager".ur: unknown key; did you mean url?'),
        (URL, "alerts.example.com", f'.url = "alerts.example.com": {HTTPS}'),
        (URL, "ftp://alerts.example.com/", f": {HTTPS}"),
        (URL, "https:///x", f": {HTTPS}"),
        (URL, "https://x:99999/", f"Port out of range 0-65535; {HTTPS}"),
        (URL, "https://x/a b", f"has a space, a fragment or a character that is no ASCII; {HTTPS}"),
        (URL, "https://ann:geheim@x/", '.url = "https://…@x/": has a user or password in it; leave them out'),
        (
            URL,
            "http://alerts.example.com/geheim",
            '.url = "http://alerts.example.com/…": http:// is for a receiver on this machine alone',
        ),
        (f'url = "{URL}"', "", '[1] "pager": must have either url or command'),
        (
            f'url = "{URL}"',
            'command = ["logger", "geheim"]',
            '.command = ["logger"]: must begin with an absolute path',
        ),
        (
            f'url = "{URL}"',
            'command = "/bin/true"',
            '.command = "/bin/true": must be a list of texts, of which',
        ),
        (f'url = "{URL}"', "command = []", ".command = []: must begin with an absolute path"),
        (f'url = "{URL}"', 'command = ["/bin/true"]', ".secret_file: signs requests to a url; leave it out"),
        ('["hold", "emergency"]', '["holds"]', "must be a list of some of hold, emergency, mode, baseline"),
        ('["hold", "emergency"]', "[]", ".on = []: must be a list of some of hold"),
        ("timeout = 5", "timeout = 61", ".timeout = 61: must be a number above 0 up to 60"),
        ('name = "pager"', 'name = "a/b"', '.name = "a/b": must be a text of up to 32 letters'),
        ('name = "pager"', "", "[1].name is missing; it must be a text of up to 32 letters"),
        ("[[hook]]", "[hook]", "FILE:hook must be an array of tables: write [[hook]] before each"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(
    given: Given, old: str, new: str, problem: str
) -> None:
    """File, hook, key, value and what it must be; never what may be a secret."""
    assert old in GOOD
    said = given.refused(GOOD.replace(old, new, 1))

    assert any(problem in line for line in said), said
    assert "geheim" not in "".join(said)


def test_two_of_a_name_and_too_many_are_refused(given: Given) -> None:
    """Metrics and status tell them by their names, and each has a thread."""
    (said,) = given.refused(COMMAND * 2)
    assert said == 'FILE:hook[2] "local".name = "local": hook[1] has this name; each needs one of its own'
    many = "".join(COMMAND.replace("local", f"local{number}") for number in range(MOST_HOOKS + 1))
    assert given.refused(many) == (f"FILE:hook: {MOST_HOOKS + 1} tables; there may be {MOST_HOOKS}",)


@pytest.mark.parametrize("text", ["https://[::1]:8443/geheim?geheim", "http://127.0.0.1:9000/geheim"])
def test_what_others_see_has_no_path(given: Given, text: str) -> None:
    """The path of a URL and the words of a command may be secrets; the API and the log have neither."""
    (hook,) = given.load(f'[[hook]]\nname = "a"\nurl = "{text}"\n').hook
    (command,) = given.load('[[hook]]\nname = "a"\ncommand = ["/bin/x", "geheim"]\n').hook

    assert hook.url == text
    for one in (hook, command):
        assert "geheim" not in shown(one) + str(without_secrets(one))


def test_a_group_file_gives_hooks_to_its_servers(given: Given) -> None:
    """A server has the hooks of what it includes, and its own of the same name in their place."""
    (given.path.parent / "group.toml").write_text(GOOD + COMMAND, encoding="utf-8")

    own = COMMAND.replace("/usr/bin/logger", "/bin/true")
    found = given.load('include = "group.toml"\n' + own).hook

    assert [(one.name, (one.command or ("",))[0]) for one in found] == [("pager", ""), ("local", "/bin/true")]
