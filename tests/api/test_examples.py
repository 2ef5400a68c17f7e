"""The examples of the OpenAPI document against what the routes answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.examples import FOLDER
from tests.api import examples

NAMES = ("Change", *examples.ASKED)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the examples as they would be written now."""
    folder = tmp_path_factory.mktemp("examples")
    examples.write(folder)
    return folder


def shape(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return the names in an answer, in its order, without the values."""
    if isinstance(value, dict):
        return [(name, shape(inner)) for name, inner in value.items()]
    return [shape(one) for one in value] if isinstance(value, list) else None


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_the_fields_of_an_answer_of_today(written: Path, name: str) -> None:
    """Who reads an example sees every field that the route has; python -m tests.api.examples writes it."""
    kept, made = (msgspec.json.decode((folder / f"{name}.json").read_bytes()) for folder in (FOLDER, written))

    assert shape(kept) == shape(made)
