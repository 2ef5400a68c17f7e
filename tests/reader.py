"""A reader who types the commands of a page as they stand, beside a simulated server and a daemon of its own.

A block of commands is one script for bash, which ends at the first that fails. In its text the machine's
folders (``/etc`` and so on), hosts and ports become those of the test, and its PATH has ``PROGRAMS`` alone.
The ``innobrim`` there has the test's own process run the command, as a Python takes a second to start. It
finds the daemon of ``innobrim demo --server simulated``, for which time is ten times as fast, or, where it
asks a server, one that speaks MySQL's protocol and has the answers of a recorded 8.0.46. What watches for
minutes does so for seconds.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from tests.cli.support import free_port, innobrim
from tests.cli.virtual import RUN, SOON, Virtual
from tests.servers.fixtured import FOLDER
from tests.servers.hostile import Hostile
from tuner.cli.main import cli

ROOT = Path(__file__).parents[1]
USERS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
"""What a user reads; the lab's pages, decisions and results are for those who doubt or develop."""

FOLDERS = ("etc", "opt", "run", "usr", "var")
"""Of the machine, that the reader has below a folder of the test's."""

RUN_AS_THEY_ARE = "base64 bash cat chmod cp curl grep head id install ln ls mkdir mv rm sed sqlite3 tail"
PROGRAMS = dict.fromkeys(RUN_AS_THEY_ARE.split(), "") | {
    name: reason
    for names, reason in {
        "apt apt-get dnf": "tests/real/test_install.py and test_release.py install packages",
        "pip pipx python3": "tests/deploy installs the wheel",
        "systemctl systemd-sysusers journalctl": "tests/real/test_systemd_deb.py has systemd",
        "docker helm kubectl": "tests/real has Docker and an API server; there is no cluster",
        "ansible-playbook ansible-doc": "tests/real/test_ansible.py runs the role",
        "make": "is what is tested here, but for make demo",
        "chown": "there is no account innobrim",
        "mysql": "statements are looked at instead",
    }.items()
    for name in names.split()
}
"""What a page may name beside innobrim, and why it only reads its input; "" is run, where it is installed."""

STREAM = """\
case "$*" in *-N*) set -- --max-time 3 "$@";; esac
{real} --fail --silent --show-error "$@" || [ $? = 28 ]"""
CLIENT = """\
case "$*" in
*VERSION*) echo 8.0.46;;
*-e*) echo "${@: -1};" >> {root}/asked.sql;;
*) cat >> {root}/asked.sql;;
esac"""
DEMO = '[ "$*" != demo ] || innobrim demo --server simulated --seconds 60 --port {port}'
STAND_INS = {"curl": STREAM, "make": DEMO, "mysql": CLIENT}
"""What is done in a program's place where that is more than nothing; a stream is left after 3 s."""

NOT_RUN = {
    "deploy/wheel.sh": "makes the wheel: tests/deploy",
    "curl -fsSo": "there is no publisher: tests/real/test_release.py makes a repository",
    "innobrim bench": "needs a database server of its own: tests/real/test_bench.py",
    "innobrim fleet": "needs a Prometheus and many daemons: tests/deploy/test_fleet.py",
    "innobrim trial begin": "takes hours: tests/cli/test_trial.py",
    "innobrim restore": "comes after the daemon was stopped: tests/cli/test_offline.py",
    "innobrim hosted": "asks a provider: tests/hosted",
    "innobrim redo --to": "the recorded server has no files to grow: tests/cli/test_redo_growth.py",
}
"""Commands that are not run here, and why."""

SHORTEST = {"advise": "--seconds 15", "doctor": "--seconds 5", "redo": "--seconds 60", "record": "--for 5s"}
"""How long a command watches here, whatever the page says."""

ANSWERS = {
    "advise": (5, 6),
    "advise --from": (1, 5, 6),
    "doctor": (1,),
    "redo": (1,),
    "why --at": (1,),
    "why --change": (1,),
}
"""Exit codes beside 0 that are a verdict: on the server, on seconds of recording, on a time of the page."""

LIKE = 0.7
"""Of the words of a shown line, the share from which on a printed one has its shape."""

SHIM = """\
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.connect({path!r})
    one.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
    code, out, err = json.loads(b"".join(iter(lambda: one.recv(65536), b"")))
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
TRAP = "set -eEo pipefail\ntrap 'echo \"$BASH_COMMAND: exit $?\" >&2' ERR\n"


class Block(NamedTuple):
    """What stands between two fences.

    Attributes:
        line: of its first fence.
        kind: the word behind the fence, or ``sh``, ``console`` or ``sql`` where the text is that.
        text: without the indentation of the fence.
        after: the text of a block of no other kind, at most a line behind it: what the last command prints.
    """

    line: int
    kind: str
    text: str
    after: str = ""


_FENCE = re.compile(r"^([ \t]*)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"(?:\w+=\S* )*(?:/opt/innobrim/bin/)?([a-z][\w-]*)(?= |$)")


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found: list[Block] = []
    end = 0
    for fence in _FENCE.finditer(page):
        indent, kind, text = fence.groups()
        text = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        one = Block(page[: fence.start()].count("\n") + 1, kind or _kind(text), text)
        if one.kind == "text" and found and page[end : fence.start()].strip().count("\n") == 0:
            found[-1] = found[-1]._replace(after=text)
        found.append(one)
        end = fence.end()
    return found


def _kind(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    word = _WORD.match(lines[0]) if lines else None
    if any(line.startswith("$ ") for line in lines):
        return "console"
    if lines and lines[0].startswith("mysql>"):
        return "sql"
    return (
        "sh" if word and word[1] in (*PROGRAMS, "innobrim", "umask", "export", "printf", "echo") else "text"
    )


class Reader:
    """The reader and the machine.

    Attributes:
        root: of the machine.
        at: the folder in which commands are typed, with a checkout's files in it.
    """

    def __init__(self, root: Path) -> None:
        """Make the machine; ``root`` has to be short, for the sake of sockets."""
        self.root, self.at, self._bin = root, root / "at", root / "bin"
        self._ports = {"server": 0, "daemon": free_port()}
        self._running: list[subprocess.Popen[str]] = []
        self._another_answer = False
        for folder in (
            "at",
            "bin",
            "etc/innobrim",
            "etc/sysusers.d",
            "etc/systemd/system",
            "etc/mysql/conf.d",
            "opt/innobrim/bin",
            "run/mysqld",
            "usr/local/bin",
            "var/lib",
        ):
            (root / folder).mkdir(parents=True)
        for name, reason in PROGRAMS.items():
            real = shutil.which(name) or ""
            if reason or name in STAND_INS or not real:
                body = STAND_INS.get(name, "") if real or reason else ""
                body = body.replace("{real}", real).replace("{root}", str(root))
                body = body.replace("{port}", str(free_port()))
                self._program(name, f"#!/bin/bash\n{body or '[ -t 0 ] || cat > /dev/null'}\n")
            else:
                (self._bin / name).symlink_to(real)
        self._program("innobrim", f"#!{sys.executable} -IS\n{SHIM.format(path=str(root / 'shim'))}")
        for name in ("innobrim", "pip"):
            (root / "opt/innobrim/bin" / name).symlink_to(self._bin / name)
        for name in ("deploy", "pyproject.toml"):
            (self.at / name).symlink_to(ROOT / name)

    @property
    def state(self) -> Path:
        """Return the daemon's state directory."""
        return self.root / "var/lib/innobrim"

    def _program(self, name: str, text: str) -> None:
        path = self._bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Have a server and a daemon in active mode while this lasts."""
        path = self.root / "run/mysqld/mysqld.sock"
        with contextlib.ExitStack() as opened:
            local = opened.enter_context(socket.socket(socket.AF_UNIX))
            local.bind(str(path))
            local.listen()
            tcp = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
            self._ports["server"] = tcp.getsockname()[1]
            for listener in (local, tcp):
                opened.callback(Hostile(listener, lambda _statement: None).end)
            for other in ("3306", "3307"):
                path.with_name(f"{other}.sock").symlink_to(path)
            opened.enter_context(self._daemon())
            opened.callback(self._leave_none)
            yield

    @contextlib.contextmanager
    def _daemon(self) -> Iterator[None]:
        """Start the demo; its state directory becomes that of every daemon of the machine."""
        words = ("demo", "--server", "simulated", "--seconds", "86400", "--port", str(self._ports["daemon"]))
        with subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", RUN, *words],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(self.root)},
        ) as demo:
            try:
                while not (made := [*self.root.glob("innobrim-demo-*/api.sock")]):
                    assert demo.poll() is None, "the demo has ended"
                    time.sleep(0.1)
                for name in ("innobrim", "innobrim-3306", "innobrim-3307"):
                    self.state.with_name(name).symlink_to(made[0].parent)
                while self._said("status", "--json").get("mode") != "active":
                    assert demo.poll() is None, "the demo has ended"
                    time.sleep(0.5)
                yield
            finally:
                demo.send_signal(signal.SIGTERM)
                demo.wait(SOON)

    def _said(self, *words: str) -> dict[str, Any]:
        result = innobrim(*words, "--state-directory", self.state)
        return dict(json.loads(result.stdout)) if result.exit_code == 0 else {}

    def begins(self, page: str) -> None:
        """Be where a page expects its reader: files that it names are there; it is active, or about to be."""
        socket_at = f"{self.root}/run/mysqld/mysqld.sock"
        login = f"[client]\nuser=innobrim\npassword=secret\nsocket={socket_at}\n"
        files = dict.fromkeys(("my.cnf", "3306.cnf", "3307.cnf"), login)
        files["innobrim.toml"] = f'[server]\nsocket = "{socket_at}"\n[loop]\nmode = "advisory"\n'
        for block in blocks(page):
            if named := re.match(r"# /etc/innobrim/(\S+)\n", block.text):
                files[named[1]] = self._here(block.text)
            if block.text.startswith("[[schedule]]"):
                files["innobrim.toml"] += block.text
        for folder in (self.at, self.root / "etc/innobrim"):
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
                (folder / name).chmod(0o600)
        typed = "".join(block.text for block in blocks(page) if block.kind == "sh")
        mode = "advisory" if "innobrim mode active" in typed else "active"
        for words in ("resume", "drain --cancel", "override --cancel", "mode active", f"mode {mode}"):
            innobrim(*words.split(), "--state-directory", self.state)

    def _here(self, text: str) -> str:
        """Return a text with the places of the test in place of the machine's, and others' hosts."""
        text = re.sub(rf"(?<![\w./}}-])/(?={'|'.join(FOLDERS)})(?=\w+/)", f"{self.root}/", text)
        text = re.sub(r"https?://(?:127\.0\.0\.1|localhost|db1\.example(?:\.com)?):8633", self.url, text)
        return re.sub(r"--host \S+", f"--host 127.0.0.1 --port {self._ports['server']}", text)

    @property
    def url(self) -> str:
        """Return where the daemon's API is."""
        return f"http://127.0.0.1:{self._ports['daemon']}"

    def types(self, text: str) -> Typed:
        """Run commands as one script; return what they came to."""
        for path in re.findall(r"--new-password (\S+)", text):
            Path(self.at, self._here(path)).unlink(missing_ok=True)
        tokens = (self.state / "tokens.json").read_bytes()
        script = self.root / "script"
        script.write_text(TRAP + self._here(without(text)), encoding="utf-8")
        asked = self.root / "asked.sql"
        asked.unlink(missing_ok=True)
        self._another_answer = False
        code, out, err = self._ended(script)
        if self.state.exists():
            (self.state / "tokens.json").write_bytes(tokens)
        sql = asked.read_text(encoding="utf-8") if asked.exists() else ""
        return Typed(code, out, err, sql, expected=not self._another_answer)

    def _ended(self, script: Path) -> tuple[int, str, str]:
        """Run a script, and what its innobrim is called with, to the end of both."""
        shim = self.root / "shim"
        with (
            socket.socket(socket.AF_UNIX) as listener,
            (self.root / "said").open("w+b") as said,
            (self.root / "failed").open("w+b") as failed,
        ):
            listener.bind(str(shim))
            listener.listen()
            with subprocess.Popen(  # noqa: S603 - what the page says, in a folder of the test's
                [str(self._bin / "bash"), "--norc", "--noprofile", str(script)],
                cwd=self.at,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=failed,
                env={"PATH": str(self._bin), "HOME": str(self.at), "LC_ALL": "C.UTF-8"},
            ) as bash:
                try:
                    while bash.poll() is None:
                        if select.select([listener], [], [], 0.1)[0]:
                            self._answer(listener.accept()[0])
                finally:
                    bash.kill()
                    shim.unlink()
            said.seek(0)
            failed.seek(0)
            return bash.returncode, said.read().decode(), failed.read().decode()

    def _answer(self, connection: socket.socket) -> None:
        """Run what the shim was called with."""
        with connection, connection.makefile("rb") as sent:
            words, folder, environ = json.loads(sent.readline())
            connection.sendall(json.dumps(self._run(words, folder, environ)).encode())

    def _run(self, words: list[str], folder: str, environ: dict[str, str]) -> tuple[int, str, str]:
        name = words[0] if words else ""
        if name in SHORTEST and "--from" not in words:
            option, value = SHORTEST[name].split()
            if option in words:
                del words[words.index(option) : words.index(option) + 2]
            words += [option, value]
        command: click.Command | None = cli
        for word in words:
            if isinstance(command, click.Group):
                command = command.get_command(click.Context(command), word)
        known = {one for parameter in command.params for one in parameter.opts} if command else set()
        elsewhere = {"--state-directory", "--config", "--url", "--from"}
        if "--state-directory" in known and not elsewhere & set(words):
            words += ["--state-directory", str(self.state)]
        if name == "demo":
            shown = subprocess.run(  # noqa: S603 - our own program
                [sys.executable, "-c", RUN, *words],
                capture_output=True,
                text=True,
                timeout=10 * SOON,
                check=False,
            )
            return shown.returncode, shown.stdout, shown.stderr
        if name == "run":
            return self._started(words, folder)
        if name == "watch":
            return _watched(words, folder)
        before = Path.cwd()
        os.chdir(folder)
        try:
            result = innobrim(*words, **environ)
        finally:
            os.chdir(before)
        answers = {code for key, codes in ANSWERS.items() if {*key.split()} <= {*words} for code in codes}
        code = 0 if result.exit_code in answers else result.exit_code
        self._another_answer |= code != result.exit_code
        broken = "" if isinstance(result.exception, SystemExit | None) else repr(result.exception)
        return code, result.stdout, result.stderr + broken

    def _started(self, words: list[str], folder: str) -> tuple[int, str, str]:
        """Run a daemon, in a terminal of its own, until the page ends."""
        environ = {**os.environ, "INNOBRIM_API_PORT": "0", "INNOBRIM_LOG_FORMAT": "json"}
        daemon = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", RUN, *words],
            cwd=folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._running.append(daemon)
        assert daemon.stdout is not None
        said = ""
        for line in daemon.stdout:
            said += line
            if '"clear_' in line:  # the flush law is verified, with which every daemon begins
                return 0, said, ""
        return daemon.wait(SOON), said, ""

    def _leave_none(self) -> None:
        """End what a page started and did not live to stop."""
        for daemon in self._running:
            daemon.kill()
            daemon.wait(SOON)

    def ends(self) -> list[int]:
        """Stop the daemons that the page started, as a service manager does; return their exit codes."""
        codes = []
        while self._running:
            daemon = self._running[-1]
            daemon.send_signal(signal.SIGTERM)
            daemon.communicate(timeout=SOON)
            codes.append(daemon.returncode)
            self._running.pop()
        return codes


class Typed(NamedTuple):
    """What a block came to.

    Attributes:
        code: the exit code of its script.
        out: what it printed.
        err: the same on standard error.
        sql: what a client of the server was given.
        expected: each command gave the answer that pages show, and none another of ``ANSWERS``.
    """

    code: int
    out: str
    err: str
    sql: str
    expected: bool


def _watched(words: list[str], folder: str) -> tuple[int, str, str]:
    """Watch on a terminal until there is a picture, and press q."""
    words = [str(Path(folder, word)) if Path(folder, word).exists() else word for word in words]
    with Virtual(*words) as terminal:
        shown = terminal.until(lambda text: "q quits" in text)
        terminal.press("q")
        return terminal.ended(), shown, ""


def typed_of(block: Block) -> tuple[str, str]:
    """Return the commands of a block, without its prompts, and what it shows as printed."""
    if block.kind != "console":
        return block.text, ""
    lines = [line for line in block.text.splitlines(keepends=True) if not line.startswith("mysql>")]
    typed = "".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))
    return typed, "".join(line for line in lines if not line.startswith("$ "))


def statements_of(block: Block) -> str:
    """Return what a block says to type at a client of the server."""
    lines = block.text.splitlines()
    return (
        block.text if block.kind == "sql" else "\n".join(line for line in lines if line.startswith("mysql>"))
    )


def without(text: str) -> str:
    """Return commands without those that are not run; a daemon is in the background by itself."""
    text = re.sub(r" &$", "", text, flags=re.MULTILINE)
    kept = [":" if line.strip().startswith(tuple(NOT_RUN)) else line for line in text.splitlines()]
    return "\n".join(kept) + "\n"


_VERBS = "ALTER|CALL|CREATE|DELIMITER|DROP|FLUSH|GRANT|INSTALL|KILL|REVOKE|SELECT|SET|SHOW|START|STOP"
_STATEMENT = re.compile(rf"(?:{_VERBS})\b", re.IGNORECASE)
_BODY = re.compile(r"DELIMITER //(.*?)//\s*DELIMITER ;", re.DOTALL)
_GLOBAL = re.compile(r"(?:SET GLOBAL |@@GLOBAL\.)(\w+)")
_QUOTED = re.compile(r"'(?:[^']|'')*'|`[^`]*`|\"[^\"]*\"")


def wrong_sql(text: str) -> list[str]:
    """Return the statements that are of no known kind, not ended, unbalanced, or of an unknown variable."""
    text = re.sub(r"^mysql> ", "", text, flags=re.MULTILINE)
    text = _QUOTED.sub("''", re.sub(r"-- .*", "", text))
    text = _BODY.sub(lambda body: body[1].replace(";", "") + ";", text)
    *statements, rest = (one.strip() for one in text.split(";"))
    return [one for one in statements if not _is_sql(one)] + ([f"not ended: {rest}"] if rest else [])


def _is_sql(statement: str) -> bool:
    known = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json"))
    names = [name for name in _GLOBAL.findall(statement) if not name.startswith("innodb_monitor_")]
    return (
        _STATEMENT.match(statement) is not None
        and statement.count("(") == statement.count(")")
        and "'" not in statement.replace("''", "")
        and all(f'"{name}"' in known for name in names)
    )


def unlike(shown: str, out: str) -> list[str]:
    """Return the lines of what a page shows that are like none printed, numbers apart, where they are most.

    Which lines there are, and what they say of a load, depends on the server: half of them have to be there.
    """
    printed = [_words(line) for line in out.splitlines()]
    lines = [line for line in shown.splitlines() if _words(line)]
    missing = [
        line
        for line in lines
        if all(difflib.SequenceMatcher(None, _words(line), one).ratio() < LIKE for one in printed)
    ]
    return missing if 2 * len(missing) > len(lines) else []


def _words(line: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", line) if word.isalpha()]
