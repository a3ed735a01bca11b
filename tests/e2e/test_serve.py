"""The finished image serves, and the switch decides whose platform and whose model class does the work.

Two servers in all, one after the other: as the image ships, and with the plugin enabled. Each is the image's default
command, given a model; what it adds is what observing takes (an extension class in the worker and the route to call it)
and one bound of the machine (VLLM_CPU_KVCACHE_SPACE). No container has a network.
"""

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCKER = [str(Path(__file__).parents[2] / "scripts/builder.sh"), "run", "docker"]
INSIDE = Path(__file__).parent / "serve"
READY_WITHIN = 420  # seconds; 45 to 80 were seen on two cores
TOKENS = 32
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB; vLLM would take 92 % of a memory node, which a busy machine does not have
    "VLLM_SERVER_DEV_MODE": "1",  # the route /collective_rpc
    "PYTHONPATH": "/tmp/probe",
}
ASK = """
import sys, urllib.request
body = sys.stdin.buffer.read() or None
request = urllib.request.Request("http://127.0.0.1:8000" + sys.argv[1], body, {"Content-Type": "application/json"})
sys.stdout.buffer.write(urllib.request.urlopen(request, timeout=120).read())
"""


@dataclass(frozen=True, slots=True)
class Served:
    """What one server answered and what was observed in its worker."""

    completion: dict
    before: dict
    after: dict

    @property
    def tokens(self) -> list[int]:
        return self.completion["choices"][0]["token_ids"]


def docker(*arguments: str, stdin: bytes = b"", timeout: float = 120) -> bytes:
    done = subprocess.run([*DOCKER, *arguments], input=stdin, capture_output=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"docker {' '.join(arguments)}\n{done.stderr.decode(errors='replace')}"
    return done.stdout


@pytest.fixture(scope="module")
def image(built) -> str:
    return built.image()


@pytest.fixture(scope="module")
def config(image) -> dict:
    """The image's own configuration: command, environment, user."""
    return json.loads(docker("image", "inspect", image))[0]["Config"]


@pytest.fixture(scope="module")
def model(image) -> bytes:
    """A tar with the model, made by the image's own Python."""
    script = (INSIDE / "tiny_llama.py").read_bytes()
    return docker("run", "--rm", "-i", "--network=none", image, "python3", "-", stdin=script)


@contextmanager
def container(image: str, command: list[str], environment: dict[str, str], model: bytes) -> Iterator[str]:
    """A running container with the model and the observer in /tmp/probe; removed whatever happens."""
    name = f"atomstack-serve-{uuid.uuid4().hex[:12]}"
    settings = [f"--env={key}={value}" for key, value in environment.items()]
    try:
        docker("create", f"--name={name}", "--network=none", "--shm-size=1g", *settings, image, *command)
        docker("cp", str(INSIDE), f"{name}:/tmp/probe")
        docker("cp", "-", f"{name}:/tmp/probe", stdin=model)
        docker("start", name)
        yield name
    finally:
        subprocess.run([*DOCKER, "rm", "--force", "--volumes", name], capture_output=True, timeout=120, check=False)


def ask(name: str, path: str, body: dict | None = None) -> dict:
    """What the server answers on its loopback, for a client in the same container."""
    stdin = json.dumps(body).encode() if body is not None else b""
    return json.loads(docker("exec", "-i", name, "python3", "-c", ASK, path, stdin=stdin, timeout=180) or b"null")


def wait_until_ready(name: str, progress) -> None:
    """Until /health answers; fails at once when the server is gone, and after READY_WITHIN in any case."""
    start = time.monotonic()
    told = 0.0
    while True:
        probe = [*DOCKER, "exec", "-i", name, "python3", "-c", ASK, "/health"]
        if (
            subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, timeout=180, check=False).returncode
            == 0
        ):
            return
        state = json.loads(docker("inspect", name))[0]["State"]
        waited = time.monotonic() - start
        logs = subprocess.run([*DOCKER, "logs", "--tail=60", name], capture_output=True, timeout=60, check=False)
        lines = (logs.stderr + logs.stdout).decode(errors="replace").splitlines()
        assert state["Running"], f"the server ended with {state['ExitCode']}:\n" + "\n".join(lines)
        assert waited < READY_WITHIN, f"not ready after {waited:.0f} s:\n" + "\n".join(lines)
        if waited - told >= 10:
            told = waited
            progress(f"{waited:4.0f} s  {lines[-1][:120] if logs.stdout else ''}")
        time.sleep(2)


@pytest.fixture(scope="module")
def serve(image, config, model, progress):
    """Start the image's default command with the model, ask it for one completion, observe, stop it."""

    def run(environment: dict[str, str]) -> Served:
        command = [*config["Cmd"], "/tmp/probe/tiny-llama", "--worker-extension-cls=observer.Observer"]
        progress(f"starting {' '.join(command)} with {environment or 'the environment it ships with'}")
        with container(image, command, ENVIRONMENT | environment, model) as name:
            wait_until_ready(name, progress)

            def rpc(method: str) -> dict:
                (result,) = ask(name, "/collective_rpc", {"method": method})["results"]
                return result

            rpc("watch")
            before = rpc("observed")
            completion = ask(
                name,
                "/v1/completions",
                {
                    "model": "/tmp/probe/tiny-llama",
                    "prompt": "w1 w2 w3 w5 w8 w13",
                    "max_tokens": TOKENS,
                    "temperature": 0,
                    # vLLM's own additions to the protocol.
                    "ignore_eos": True,
                    "return_token_ids": True,
                },
            )
            return Served(completion, before, rpc("observed"))

    return run


@pytest.fixture(scope="module")
def shipped(serve) -> Served:
    return serve({})


@pytest.fixture(scope="module")
def enabled(serve) -> Served:
    return serve({"ATOM_DISABLE_VLLM_PLUGIN": "0"})


def test_the_image_serves_by_default_and_ships_with_the_plugin_disabled(config):
    assert config["Cmd"] == ["vllm", "serve"]
    assert "ATOM_DISABLE_VLLM_PLUGIN=1" in config["Env"]


def test_as_shipped_it_answers_an_openai_completion(shipped):
    """The fields are those of OpenAI's completion object."""
    assert shipped.completion["object"] == "text_completion"
    (choice,) = shipped.completion["choices"]
    assert choice["finish_reason"] == "length"
    assert shipped.completion["usage"]["prompt_tokens"] == 6
    assert shipped.completion["usage"]["completion_tokens"] == TOKENS
    assert choice["text"].split()


def test_as_shipped_neither_platform_nor_model_is_the_plugins(shipped):
    assert shipped.after["platform"] == "vllm.platforms.cpu.CpuPlatform"
    assert shipped.after["model"] == "vllm.model_executor.models.llama.LlamaForCausalLM"
    assert not [name for name in shipped.after["modules"] if name.startswith("atom.")]


def test_enabled_the_plugins_platform_and_model_are_in_the_process_that_runs_the_model(enabled):
    assert enabled.after["platform"] == "atom.plugin.vllm.platform.ATOMPlatform"
    assert enabled.after["model"] == "atom.models.llama.LlamaForCausalLM"
    llama = {name for name in enabled.after["modules"] if ".llama." in name}
    parts = ("Attention", "DecoderLayer", "ForCausalLM", "MLP", "Model")
    assert llama == {f"atom.models.llama.Llama{part}" for part in parts}


@pytest.mark.parametrize("server", ["shipped", "enabled"])
def test_what_was_observed_is_the_worker_and_the_forward_that_made_the_tokens(server, request):
    """The API server is process 1 of the container; one forward makes one token of one request."""
    served = request.getfixturevalue(server)
    assert served.before["forwards"] == 0
    assert served.after["forwards"] == TOKENS
    assert served.before["pid"] == served.after["pid"] != 1


def test_the_plugins_model_gives_the_same_greedy_tokens_as_vllms(shipped, enabled):
    assert enabled.tokens == shipped.tokens
    # Of one token over and over the equality would prove little.
    assert len(shipped.tokens) == TOKENS
    assert len(set(shipped.tokens)) > TOKENS / 2


def test_stack_info_runs_in_the_image_and_names_the_plugin_that_is_inside(image):
    info = json.loads(docker("run", "--rm", "--network=none", image, "stack-info", "--format=json"))
    assert info["problems"] == []
    assert info["stack"]["components"]["atom"]["ships"] is True
    assert {name: gate["verdict"] for name, gate in info["gates"].items()} == dict.fromkeys(info["gates"], "holds")
    text = docker("run", "--rm", "--network=none", image, "stack-info").decode()
    assert info["stack"]["stack_id"] in text
    assert "not checked here" in text
