"""A configuration as its three sources give it, and credentials with an option file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tuner.config.credentials import Credentials, read_credentials
from tuner.config.load import load_config
from tuner.config.schema import Config, ConfigError, ServerSection


class Given:
    """Loads configurations whose file has a given text.

    Attributes:
        path: of the file.
        notes: what was noted about the one that was loaded last.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []

    def load(
        self,
        text: str = "",
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
    ) -> Config:
        """Return the configuration."""
        self.path.write_text(text, encoding="utf-8")
        self.notes = []
        return load_config(str(self.path), environ=environ or {}, flags=flags or {}, noted=self.notes.append)

    def refused(
        self,
        text: str = "",
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
    ) -> tuple[str, ...]:
        """Return what is wrong with it, the file's name as FILE."""
        with pytest.raises(ConfigError) as caught:
            self.load(text, environ, flags)
        assert str(caught.value) == "\n".join(caught.value.problems)
        return tuple(problem.replace(str(self.path), "FILE") for problem in caught.value.problems)


class OptionFile:
    """Reads credentials with an option file, for its owner alone, of a given content."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, content: str | bytes, mode: int = 0o600) -> None:
        """Write it; a text may have surrogates for bytes that are no UTF-8."""
        self.path.write_bytes(
            content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
        )
        self.path.chmod(mode)

    def read(
        self,
        content: str | bytes | None = None,
        *,
        mode: int = 0o600,
        environ: Mapping[str, str] | None = None,
        **server: object,
    ) -> Credentials:
        """Return the credentials; without content the file stays as it is."""
        if content is not None:
            self.write(content, mode)
        section = ServerSection(defaults_file=str(self.path), **server)  # type: ignore[arg-type] # a test's own keys
        return read_credentials(section, environ=environ or {})

    def refused(self, content: str | bytes | None = None, **others: object) -> str:
        """Return the one thing that is wrong."""
        with pytest.raises(ConfigError) as caught:
            self.read(content, **others)  # type: ignore[arg-type] # as read has them
        (problem,) = caught.value.problems
        return problem
