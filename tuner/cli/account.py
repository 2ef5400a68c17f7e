"""Which account a command uses a state directory as."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from tuner.cli.errors import Unusable
from tuner.config.schema import Config
from tuner.statedir import as_owner

GivenP = ParamSpec("GivenP")
FoundT = TypeVar("FoundT")


@contextmanager
def entered(directory: str | Path, *, shared: bool = False) -> Iterator[None]:
    """Use a state directory as ``as_owner`` has it.

    Raises:
        Unusable: it is one that root must not use.
    """
    with ExitStack() as account:
        try:
            account.enter_context(as_owner(directory, shared=shared))
        except OSError as error:
            raise Unusable(
                f"the state directory {directory} is not used: {error.strerror or error}"
            ) from error
        yield


def in_state_directory(
    function: Callable[Concatenate[Config, GivenP], FoundT],
) -> Callable[Concatenate[Config, GivenP], FoundT]:
    """Have a function do what it does as the owner of the configuration's state directory."""

    @wraps(function)
    def inside(config: Config, /, *args: GivenP.args, **kwargs: GivenP.kwargs) -> FoundT:
        with entered(config.daemon.state_directory):
            return function(config, *args, **kwargs)

    return inside
