"""The seven functions of vLLM's KV-cache planning, whose table stands in data/: well on three releases in a row.

vllm-project/vllm moved them from vllm.v1.core.kv_cache_utils to vllm.v1.core.kv_cache_planning in 0.33.0; one had gained a
leading parameter in 0.32.0, in its old module.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from atomstack.compat_check.host import Host
from atomstack.compat_check.relocations import read
from atomstack.compat_check.rules.relocation import states
from atomstack.sources import open_source

TABLE = Path(__file__).parent / "data" / "vllm-relocations.json"

hosts = cache(lambda version: Host(open_source(f"vllm=={version}")))


@pytest.mark.parametrize(("version", "module"), [("0.31.0", "utils"), ("0.32.0", "utils"), ("0.33.0", "planning")])
def test_every_entry_resolves_where_the_table_says(version: str, module: str) -> None:
    found = states(hosts(version), [read(TABLE.read_bytes(), TABLE.name)])
    assert [(s.state, (s.place or "").partition(":")[0]) for s in found] == [
        ("here", f"vllm.v1.core.kv_cache_{module}")
    ] * 7


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.31.0", {"here": 7}),
        ("0.32.0", {"here": 6, "signature": 1}),  # _pool_bytes_per_block(vllm_config, kv_cache_groups)
        ("0.33.0", {"gone": 7}),
    ],
)
def test_a_table_that_stopped_at_the_first_release(version: str, expected: dict[str, int]) -> None:
    document = json.loads(TABLE.read_text())
    for entry in document["symbols"].values():
        entry["places"] = [{"at": entry["places"][0]["at"]}]
        entry["signatures"] = [{"parameters": entry["signatures"][0]["parameters"]}]
    found = states(hosts(version), [read(json.dumps(document).encode(), "old.json")])
    assert Counter(s.state for s in found) == expected
