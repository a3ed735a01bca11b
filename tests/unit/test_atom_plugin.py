"""The reference plugin's hooks, without vLLM: the names it promises, its switch, and what it does under each host.

The real thing, with a model that generates, is tests/e2e/test_serve.py.
"""

import ast
import importlib
import logging
import sys
import tomllib
import types
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "atom"
REGISTER = "atom.plugin.vllm.register"


@pytest.fixture
def hooks(monkeypatch):
    """`atom.plugin.vllm.register`, imported anew from the tree, with the switch off."""
    for name in [name for name in sys.modules if name.split(".")[0] in {"atom", "vllm"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(PROJECT)
    monkeypatch.delenv("ATOM_DISABLE_VLLM_PLUGIN", raising=False)
    yield importlib.import_module(REGISTER)
    for name in [name for name in sys.modules if name.split(".")[0] == "atom"]:
        del sys.modules[name]


def install_vllm(monkeypatch, **probes):
    """A vLLM with these built-in platforms, and the registry that plugins register models with."""
    vllm = types.ModuleType("vllm")
    vllm.registered = {}
    vllm.ModelRegistry = types.SimpleNamespace(register_model=vllm.registered.__setitem__)
    platforms = types.ModuleType("vllm.platforms")
    platforms.builtin_platform_plugins = probes
    cpu = types.ModuleType("vllm.platforms.cpu")
    cpu.CpuPlatform = type("CpuPlatform", (), {})
    for module in (vllm, platforms, cpu):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return vllm


def is_cpu():
    return "vllm.platforms.cpu.CpuPlatform"


def no():
    return None


def broken():
    raise RuntimeError("no such library")


def test_entry_points_are_upstreams():
    """ROCm/ATOM's pyproject.toml has these two, by these names; people filter on them with VLLM_PLUGINS."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "atom-reference-plugin"
    assert project["entry-points"] == {
        "vllm.platform_plugins": {"atom": f"{REGISTER}:register_platform"},
        "vllm.general_plugins": {"atom_model_registry": f"{REGISTER}:register_model"},
    }


def test_every_file_is_python_3_10():
    assert tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["requires-python"] == ">=3.10"
    for path in PROJECT.rglob("*.py"):
        ast.parse(path.read_text(), filename=str(path), feature_version=(3, 10))


def test_loading_the_hooks_imports_neither_vllm_nor_torch(hooks):
    assert hooks.__name__ == REGISTER
    assert not {"vllm", "torch"} & sys.modules.keys()


def test_disabled_both_hooks_stand_down_and_say_so(hooks, monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="vllm.atom")
    monkeypatch.setenv("ATOM_DISABLE_VLLM_PLUGIN", "1")
    vllm = install_vllm(monkeypatch, cpu=is_cpu)
    assert hooks.register_platform() is None
    assert hooks.register_model() is None
    assert vllm.registered == {}
    assert len(caplog.messages) == 2
    assert all("ATOM_DISABLE_VLLM_PLUGIN=1" in message for message in caplog.messages)


def test_enabled_the_platform_is_atoms_over_the_one_vllm_would_pick(hooks, monkeypatch):
    install_vllm(monkeypatch, tpu=no, cuda=broken, rocm=no, cpu=is_cpu)
    assert hooks.register_platform() == hooks.register_platform() == "atom.plugin.vllm.platform.ATOMPlatform"
    platform = importlib.import_module("atom.plugin.vllm.platform")
    assert platform.ATOMPlatform.__bases__ == (sys.modules["vllm.platforms.cpu"].CpuPlatform,)


@pytest.mark.parametrize(
    "probes",
    [
        {"cpu": no},
        {"rocm": lambda: "vllm.platforms.rocm.RocmPlatform", "cpu": is_cpu},  # vLLM itself refuses two
        {"xpu": lambda: "vllm.platforms.xpu.XPUPlatform"},
        {"cuda": broken},
    ],
)
def test_over_anything_else_the_platform_stands_down_and_says_so(hooks, monkeypatch, caplog, probes):
    install_vllm(monkeypatch, **probes)
    assert hooks.register_platform() is None
    assert ["stands down" in message for message in caplog.messages] == [True]


def test_enabled_llama_is_atoms_however_often_the_hook_runs(hooks, monkeypatch):
    vllm = install_vllm(monkeypatch, cpu=is_cpu)
    hooks.register_model()
    hooks.register_model()
    assert vllm.registered == {"LlamaForCausalLM": "atom.models.llama:LlamaForCausalLM"}
    prepare = importlib.import_module("atom.plugin.prepare")
    assert prepare.is_vllm()
    assert prepare.is_plugin_mode()
    assert not prepare.is_sglang()


def test_the_backbone_is_one_of_three_whatever_the_case(hooks):
    prepare = importlib.import_module("atom.plugin.prepare")
    assert not prepare.is_plugin_mode()
    prepare.set_framework_backbone("SGLang")
    assert prepare.is_sglang()
    with pytest.raises(ValueError, match="'tgi' is no framework"):
        prepare.set_framework_backbone("tgi")
    assert prepare.is_sglang()


def test_every_override_names_a_class_in_the_tree(hooks):
    for target in hooks.MODEL_OVERRIDES.values():
        module, _, name = target.partition(":")
        tree = ast.parse((PROJECT / f"{module.replace('.', '/')}.py").read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
