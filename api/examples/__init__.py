"""An example of each answer, for the OpenAPI document; ``python -m tests.api.examples`` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent


def example_of(model: str) -> Any:  # noqa: ANN401 - as decoded; callers know the model
    """Return the example of a model's JSON; None where there is none."""
    path = FOLDER / f"{model}.json"
    return msgspec.json.decode(path.read_bytes()) if path.exists() else None
