"""What holds for the image that ships."""

import json

from e2e.conftest import docker, in_image
from e2e.vllm import test_vllm


class TestAtomVllm(test_vllm.TestVllm):
    """All of vllm's tests, and what the combination promises."""

    target = "atom-vllm"

    def test_it_runs_as_a_user_who_is_not_root_and_has_a_home(self, image, inspected):
        assert inspected["Config"]["User"] not in {"", "0", "root"}
        assert in_image(image, 'id -u; test -w "$HOME" && echo writable').split()[1:] == ["writable"]
        assert in_image(image, "id -u").strip() != "0"

    def test_it_serves_by_default_with_the_plugin_disabled(self, inspected):
        assert inspected["Config"]["Cmd"] == ["vllm", "serve"]
        assert "ATOM_DISABLE_VLLM_PLUGIN=1" in inspected["Config"]["Env"]

    def test_the_plugin_is_installed_with_both_entry_points(self, image):
        code = (
            "from importlib.metadata import distribution as d;"
            '[print(p.group, p.name) for p in d("atom-reference-plugin").entry_points]'
        )
        assert set(in_image(image, f"python3 -c '{code}'").splitlines()) == {
            "vllm.platform_plugins atom",
            "vllm.general_plugins atom_model_registry",
        }

    def test_stack_info_says_what_the_labels_say(self, image, inspected):
        labels = inspected["Config"]["Labels"]
        info = json.loads(docker("run", "--rm", "--network=none", image, "stack-info", "--format", "json"))
        stack = info["stack"]
        assert info["problems"] == []
        assert stack["tag"] == image
        assert stack["stack_id"] == labels["atomstack.stack.id"]
        assert stack["flavour"] == labels["atomstack.flavour"]
        assert stack["manifest"]["name"] == labels["atomstack.manifest"]
        assert stack["manifest"]["hash"] == labels["atomstack.manifest.hash"]
        assert " ".join(stack["unlocked"]) == labels["atomstack.unlocked"]
        for name, pin in stack["components"].items():
            assert labels[f"atomstack.{name}.ships"] == ("true" if pin["ships"] else "false")
            if pin["ships"]:
                assert labels[f"atomstack.{name}.resolved"] == pin["resolved"]
                assert labels[f"atomstack.{name}.id"] == pin["id"]

    def test_both_gates_left_their_reports_and_both_hold(self, image):
        info = json.loads(docker("run", "--rm", "--network=none", image, "stack-info", "--format", "json"))
        assert {name: gate["verdict"] for name, gate in info["gates"].items()} == {
            "compat-check.sources.json": "holds",
            "compat-check.installed.json": "holds",
        }
