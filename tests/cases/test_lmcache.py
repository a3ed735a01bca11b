"""The public measurement of LMCache 0.5.6 against vLLM 0.33.0: import sites, symbols, and the one that is gone."""

import pytest

from atomstack.compat_check import check
from atomstack.findings import Result, Severity
from atomstack.sources import open_source


@pytest.fixture(scope="module")
def result() -> Result:
    return check(open_source("lmcache==0.5.6"), open_source("vllm==0.33.0"))


def test_import_sites_and_symbols(result: Result) -> None:
    assert (result.summary["import_sites"], result.summary["distinct_symbols"]) == (79, 53)


def test_exactly_one_is_unresolved(result: Result) -> None:
    [finding] = [f for f in result.findings if f.severity is not Severity.INFO]
    assert (finding.code, finding.severity) == ("unresolved-import", Severity.ERROR)
    assert finding.symbol == "vllm.attention:Attention"
    assert finding.file == "lmcache/v1/compute/attention/flash_infer_sparse.py"


def test_both_sides_are_the_releases_that_were_asked_for(result: Result) -> None:
    assert [(i.role, i.name, i.version) for i in result.inputs] == [
        ("consumer", "lmcache", "0.5.6"),
        ("host", "vllm", "0.33.0"),
    ]
