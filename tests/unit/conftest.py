"""What every unit test finds."""

import pytest


@pytest.fixture(autouse=True)
def results_of_no_one_else(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads, or leaves, anything in the cache of who runs it."""
    monkeypatch.setenv("ATOMSTACK_CACHE", str(tmp_path_factory.mktemp("cache")))
