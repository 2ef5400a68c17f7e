"""What the daemon itself costs, beside a real server at one tick a second."""

from __future__ import annotations

import pytest

from tests.real.recording import Recording

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

MEBIBYTE = 1024 * 1024
LEAST_SECONDS = 60.0
LARGEST_SHARE = 0.005


def test_without_api(recording: Recording, figures: list[str]) -> None:
    """A daemon without API fits into 52 MiB and half a percent of a core."""
    cost = recording.without_api
    figures.append(f"without API: {cost.resident / MEBIBYTE:.1f} MiB resident, {cost.share:.3%} of a core")
    assert cost.seconds >= LEAST_SECONDS
    assert cost.resident <= 52 * MEBIBYTE
    assert cost.share < LARGEST_SHARE


def test_with_api(recording: Recording, figures: list[str]) -> None:
    """A daemon that serves the API fits into 75 MiB and half a percent of a core."""
    cost = recording.with_api
    figures.append(f"with API: {cost.resident / MEBIBYTE:.1f} MiB resident, {cost.share:.3%} of a core")
    assert cost.seconds >= LEAST_SECONDS
    assert cost.resident <= 75 * MEBIBYTE
    assert cost.share < LARGEST_SHARE


def test_a_command_prints_both(recording: Recording) -> None:
    """What the daemon costs is one command away, for a person and for a machine."""
    process = recording.status["process"]
    assert abs(process["resident_bytes"] - recording.with_api.resident) < 4 * MEBIBYTE
    assert 0.0 < process["core_share"] < 4 * LARGEST_SHARE
    assert "MiB resident" in recording.status_text
    assert "% of a core" in recording.status_text
