"""Fitted parameters, one TOML file a server; ``python -m lab.plant.fit`` writes them, scenarios name them."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from lab.plant.parameters import DiskParameters, LoadParameters

SUFFIX = ".toml"
LOAD = ("hot_pages", "redo_bytes_per_commit", "group_operations", "commit_seconds")
DISK = ("operations_per_page", "queued_pages")
"""What may be fitted; ``lab.plant.parameters`` says what each is."""

Part = TypeVar("Part", "LoadParameters", "DiskParameters")


class FitError(Exception):
    """Fitted parameters that are not there or cannot be read; the message names the file and the problem."""


class FittedOn(Struct, frozen=True, forbid_unknown_fields=True):
    """What parameters were fitted on: the rows of a variant of the bench with one M, in pages/s."""

    variant: str
    io_capacity_max: int


class Fit(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of load and disk, and the rows that they are from.

    Attributes:
        name: of the file, and as scenarios call it: the simulated server's.
        suite: directory of the bench that they are from.
        fitted_on: its rows that were looked at; all others judge, and those of other benches.
        load: parameters of the load by name.
        disk: parameters of the disk by name.
        left: root mean square of what was left of the error, in units of what is promised.
    """

    name: str
    suite: str
    fitted_on: tuple[FittedOn, ...]
    load: dict[str, float]
    disk: dict[str, float]
    left: float = 0.0

    def load_over(self, base: LoadParameters) -> LoadParameters:
        """Return the load with its fitted parameters."""
        return replace(base, **self.load)

    def disk_over(self, base: DiskParameters) -> DiskParameters:
        """Return the disk with its fitted parameters."""
        return replace(base, **self.disk)

    def saw(self, suite: str, variant: str, io_capacity_max: int | None) -> bool:
        """Tell whether it was fitted on a row."""
        return self.suite == suite and any(
            (one.variant, one.io_capacity_max) == (variant, io_capacity_max) for one in self.fitted_on
        )

    def problems(self) -> list[str]:
        """Return what cannot be fitted, a line each."""
        known = {"load": (self.load, LOAD), "disk": (self.disk, DISK)}
        return [
            f"{table}.{key}: cannot be fitted; there are {', '.join(names)}"
            for table, (given, names) in known.items()
            for key in given
            if key not in names
        ]

    def toml(self) -> str:
        """Return the file that holds it."""
        lines = [
            f"# Written by python -m lab.plant.fit {self.suite}; in a scenario: fit = {_text(self.name)}",
            f"suite = {_text(self.suite)}",
            f"left = {self.left:.4g}",
            "fitted_on = [",
            *(
                f"  {{ variant = {_text(one.variant)}, io_capacity_max = {one.io_capacity_max} }},"
                for one in self.fitted_on
            ),
            "]",
        ]
        for table, given in (("load", self.load), ("disk", self.disk)):
            lines += ["", f"[{table}]", *(f"{key} = {value:.6g}" for key, value in given.items())]
        return "\n".join(lines) + "\n"


def fit_names(directory: Traversable | None = None) -> tuple[str, ...]:
    """Return the names of the fits that there are, sorted."""
    found = (entry.name for entry in _folder(directory).iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX)))


def load_fit(name: str, directory: Traversable | None = None) -> Fit:
    """Return a fit by its name.

    Args:
        name: of ``fit_names``.
        directory: where it lies; None for those that come with the package.

    Raises:
        FitError: there is none of that name, or its file is wrong.
    """
    names = fit_names(directory)
    if name not in names:
        raise FitError(f"fit = {name}: no such fitted parameters; there are {', '.join(names) or 'none yet'}")
    text = (_folder(directory) / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    try:
        fit = msgspec.convert({"name": name, **tomllib.loads(text)}, Fit)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise FitError(f"{name}{SUFFIX}: {error}") from error
    if problems := fit.problems():
        raise FitError("\n".join(f"{name}{SUFFIX}: {one}" for one in problems))
    return fit


def load_fits(directory: Traversable | None = None) -> tuple[Fit, ...]:
    """Return all fits.

    Raises:
        FitError: the file of one of them is wrong.
    """
    return tuple(load_fit(name, directory) for name in fit_names(directory))


def _folder(directory: Traversable | None) -> Traversable:
    return resources.files("lab.plant.fits") if directory is None else directory


def _text(words: str) -> str:
    """Return a TOML string; JSON's escapes are among TOML's."""
    return msgspec.json.encode(words).decode()
