"""Lines of log, from the daemon and from its libraries: pretty on a terminal, JSON elsewhere.

They go out from a thread of their own, so that a terminal stopped with Ctrl-S or a full pipe never stops
the loop.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import sys
import threading
from collections.abc import Mapping, MutableMapping
from typing import Any, Literal, TextIO

import msgspec

from tuner.system.imports import hidden
from tuner.system.printable import escaped, printable

with hidden("rich"):  # 3 MB of coloured tracebacks, which a daemon never prints
    import structlog

get_logger = structlog.get_logger

LINES = 1000
"""Lines held while nobody takes them; what comes after that is counted and lost."""

PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}

Level = Literal["debug", "info", "warning", "error"]
Style = Literal["auto", "json", "pretty"]

log = structlog.get_logger("innobrim")


class Sink:
    """Takes lines at once and writes them from its own thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(LINES)
        self._lost = 0
        self._thread = threading.Thread(target=self._work, name="log", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Tell whether its thread lives."""
        return self._thread.is_alive()

    def msg(self, line: str) -> None:
        """Take a line; never blocks."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._lost += 1

    debug = info = warning = error = critical = exception = fatal = log = msg

    def close(self, timeout: float) -> None:
        """Write what is left, for at most so many seconds."""
        try:
            self._lines.put(None, timeout=timeout)
        except queue.Full:
            return
        self._thread.join(timeout)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            self._write(line)
            if self._lost and self._lines.empty():
                lost, self._lost = self._lost, 0
                self._write(f"{lost} lines were lost because nobody took them")

    def _write(self, line: str) -> None:
        data = f"{line}\n"
        try:
            number = self._stream.fileno()
        except (OSError, ValueError):
            number = -1
        try:
            if number < 0:
                self._stream.write(data)
                return
            # Not through the stream: a thread that hangs in it would keep its lock beyond our end.
            left = data.encode(errors="replace")
            while left:
                left = left[os.write(number, left) :]
        except (OSError, ValueError):
            self._lost += 1


class _Bridge(logging.Handler):
    """Hands what libraries log to the same sink."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info is not None:
            text = f"{text}: {record.exc_info[1]!r}"
        log.log(record.levelno, text, library=record.name)


class _Configured:
    """What ``configure_logs`` set up last."""

    sink: Sink | None = None


def configure_logs(*, level: Level, style: Style, stream: TextIO | None = None) -> None:
    """Set logging up for the whole process; call again to change it.

    Args:
        level: lowest level said.
        style: auto is pretty on a terminal and JSON elsewhere.
        stream: where to; default: standard error.
    """
    out = sys.stderr if stream is None else stream
    close_logs()
    _Configured.sink = sink = Sink(out)
    pretty = style == "pretty" or (style == "auto" and out.isatty())
    last: list[Any] = (
        [_on_one_line, structlog.dev.ConsoleRenderer(colors=out.isatty(), sort_keys=False)]
        if pretty
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_to_json)]
    )
    if _reaches_journald(out):
        last.append(_with_priority)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: sink,
    )
    root = logging.getLogger()
    if not any(isinstance(handler, _Bridge) for handler in root.handlers):
        root.addHandler(_Bridge())
        root.setLevel(logging.WARNING)


def reset_logs() -> None:
    """Log as before ``configure_logs``: a command's warnings go to standard error, never between its JSON."""
    close_logs()
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _Bridge)]:
        root.removeHandler(handler)
    structlog.reset_defaults()
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


def logs_alive() -> bool:
    """Tell whether what is logged is written: its thread lives, or there is none."""
    return _Configured.sink is None or _Configured.sink.alive


def close_logs(timeout: float = 0.5) -> None:
    """Write what is left, for at most so many seconds; also done at exit."""
    if _Configured.sink is not None:
        _Configured.sink.close(timeout)
        _Configured.sink = None


atexit.register(close_logs)
reset_logs()


def _reaches_journald(stream: TextIO) -> bool:
    """Tell whether a stream is the one that systemd connected to its journal."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def _with_priority(_logger: object, method: str, line: str) -> str:
    """Put the syslog priority before a line, as sd-daemon(3) says; ``journalctl -p warning`` looks at it."""
    return f"<{PRIORITIES.get(method, 6)}>{line}"


def _on_one_line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Have no words that others chose steer the terminal, or pass for a line of their own."""
    return {key: printable(value) if isinstance(value, str) else value for key, value in event.items()}


def _to_json(value: object, **_: object) -> str:
    return escaped(msgspec.json.encode(value, enc_hook=str).decode())
