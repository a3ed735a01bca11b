"""The graph, as bake resolves it: each pin moves alone, ids are stable, and a wrong value is refused in one sentence."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"

COMPONENTS = ("base", "torch", "aiter", "cupy", "lmcache", "vllm", "atom", "atom-vllm")
ABOVE_TORCH = {"aiter", "cupy", "lmcache", "vllm", "stack"}
GATE = {"gate", "gate-report", "gate-tool"}
# Variable, another value -> the component ids that change, and the targets whose inputs change (contexts, arguments,
# stage). What a target gets from another one's image is that one's change, not its own.
MOVES = [
    ("ATOM_REF", "v0.2.0", {"atom", "stack"}, {"atom"} | GATE),
    ("ATOM_REPO", "https://github.com/a/fork.git", {"atom", "stack"}, {"atom"} | GATE),
    ("ATOM_REPO", "in-tree", {"atom", "stack"}, {"atom"} | GATE),
    ("VLLM_REF", "v0.33.0", {"vllm", "stack"}, {"vllm-wheel"} | GATE),
    ("VLLM_REPO", "https://github.com/a/fork.git", {"vllm", "stack"}, {"vllm-wheel"} | GATE),
    ("AITER_REF", "v0.1.26", {"aiter", "stack"}, {"aiter"}),
    ("AITER_REPO", "https://github.com/a/fork.git", {"aiter", "stack"}, {"aiter"}),
    ("LMCACHE_REF", "v0.5.5", {"lmcache", "stack"}, {"lmcache"}),
    ("LMCACHE_REPO", "https://github.com/a/fork.git", {"lmcache", "stack"}, {"lmcache"}),
    ("CUPY_REF", "main", {"cupy", "stack"}, {"cupy"}),
    ("CUPY_REPO", "https://github.com/a/fork.git", {"cupy", "stack"}, {"cupy"}),
    ("TORCH_REF", "main", {"torch"} | ABOVE_TORCH, {"torch"}),
    ("TORCH_REPO", "https://github.com/a/fork.git", {"torch"} | ABOVE_TORCH, {"torch"}),
    ("TORCH_VERSION", "2.13.0+rocm10.0.0", {"base", "torch", "atom"} | ABOVE_TORCH, {"base", "torch"}),
    ("TRITON_REF", "main", {"torch"} | ABOVE_TORCH, {"torch"}),
    ("TRITON_REPO", "https://github.com/a/fork.git", {"torch"} | ABOVE_TORCH, {"torch"}),
    ("TORCH_INDEX", "https://example.com/whl/", {"base", "torch", "atom"} | ABOVE_TORCH, {"base", "torch"}),
    ("ROCM_VERSION", "7.2.4", {"base", "torch", "atom"} | ABOVE_TORCH, {"base"}),
    ("BASE_IMAGE", "docker.io/library/ubuntu:22.04", {"base", "torch", "atom"} | ABOVE_TORCH, {"base"}),
    # What tests or transports a stack is no part of its identity.
    ("GATE_IMAGE", "docker.io/library/python:3.13-slim", set(), GATE),
    ("REGISTRY", "registry.example.com/team/", set(), set()),
    ("CACHE", "registry.example.com/cache", set(), set()),
    ("CA_BUNDLE", "LICENSE", set(), set()),
    ("PIP_CONF", "LICENSE", set(), set()),
    ("FROZEN", "0", set(), set()),
]


def ids(resolved: dict[str, Any]) -> dict[str, str]:
    """Component -> id, as the labels of atom-vllm record them; triton is built with torch and shares its id."""
    labels = resolved["target"]["atom-vllm"]["labels"]
    found = {m[1]: value for key, value in labels.items() if (m := re.fullmatch(r"atomstack\.([a-z]+)\.id", key))}
    assert found.pop("triton", found["torch"]) == found["torch"]
    return found


def inputs(resolved: dict[str, Any]) -> dict[str, Any]:
    """Target -> what it builds from. STACK_JSON is left out: it records every pin of the stack."""
    return {
        name: (
            target.get("target"),
            target.get("contexts"),
            {key: value for key, value in target.get("args", {}).items() if key != "STACK_JSON"},
        )
        for name, target in resolved["target"].items()
    }


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def committed(bake: Any, variable: str) -> Any:
    """What docker-bake.override.json gives `variable`."""
    return json.loads(bake.committed.read_text())["variable"][variable]["default"]


def with_lock(bake: Any, folder: Path, **halves: Any) -> Path:
    """A docker-bake.override.json whose lock has `halves` in place of the committed ones."""
    document = json.loads(bake.committed.read_text())
    document["variable"]["ATOMSTACK_LOCK"]["default"].update(halves)
    path = folder / "override.json"
    path.write_text(json.dumps(document))
    return path


def everything_locked(bake: Any, folder: Path) -> Path:
    """An override in which every pin of the default tuple is resolved, each source to a commit of its own."""
    labels = bake.print("atom-vllm")["target"]["atom-vllm"]["labels"]
    pins = {
        f"{labels[f'atomstack.{name}.source']}#{labels[f'atomstack.{name}.ref']}": {
            "commit": f"{number:040x}",
            "version": "1.2.3",
            "submodules": {},
            "time": "2026-11-01T00:00:00Z",
        }
        for number, name in enumerate(["atom", "vllm", "aiter", "lmcache", "cupy", "torch", "triton"], start=1)
    }
    images = [labels["atomstack.base.source"], "docker.io/library/python:3.12-slim-bookworm"]
    return with_lock(bake, folder, sources=pins, images=dict.fromkeys(images, "sha256:" + "ab" * 32))


# --- identity


@pytest.mark.parametrize(("variable", "value", "moved", "targets"), MOVES, ids=[f"{m[0]}={m[1]}" for m in MOVES])
def test_each_pin_moves_alone(bake, variable: str, value: str, moved: set[str], targets: set[str]) -> None:
    beside = {"TORCH_VERSION": "2.13.0"} if variable == "TORCH_INDEX" else {}  # which that index serves
    default, other = bake.print("all", env=beside), bake.print("all", env=beside | {variable: value})
    assert changed(ids(default), ids(other)) == moved
    assert changed(inputs(default), inputs(other)) == targets


def test_every_variable_that_is_a_pin_is_in_the_table(bake) -> None:
    listed = json.loads(bake.run("--list=type=variables,format=json").stdout)
    pins = {v["name"] for v in listed if re.search(r"_(REPO|REF|VERSION|INDEX|IMAGE)$", v["name"])}
    assert pins == {move[0] for move in MOVES} & pins


def test_every_variable_is_typed_and_described(bake) -> None:
    generated = {"ATOMSTACK_LOCK", "ATOMSTACK_MANIFESTS"}  # declared in the override alone, and untyped
    for variable in json.loads(bake.run("--list=type=variables,format=json").stdout):
        if variable["name"] in generated or not variable["name"].isupper():
            continue
        assert variable.get("type"), variable["name"]
        assert variable.get("description"), variable["name"]


def test_another_fleet_changes_what_is_compiled_for_it_and_not_what_is_not(bake) -> None:
    instinct, snoc = bake.print("all"), bake.print("all", env={"MANIFEST": "snoc"})
    assert changed(ids(instinct), ids(snoc)) == {"torch"} | ABOVE_TORCH
    assert snoc["target"]["vllm-wheel"]["args"]["GFX"] == "gfx1151;gfx1201"


def test_the_same_tuple_gives_the_same_ids_on_every_run(bake, tmp_path: Path) -> None:
    shuffled = tmp_path / "shuffled.json"  # the order of keys in a JSON file means nothing
    variables = reversed(json.loads(bake.committed.read_text())["variable"].items())
    shuffled.write_text(json.dumps({"variable": {name: dict(reversed(body.items())) for name, body in variables}}))
    runs = [bake.print("all", override=file) for file in [bake.committed] * 3 + [shuffled]]
    assert all(run == runs[0] for run in runs)


def test_an_explicit_default_is_the_default(bake) -> None:
    assert bake.print("all", env={"VLLM_REF": "v0.31.0", "MANIFEST": "instinct"}) == bake.print("all")


def test_the_stack_id_is_in_tag_and_label(bake) -> None:
    target = bake.print("atom-vllm")["target"]["atom-vllm"]
    stack = target["labels"]["atomstack.stack.id"]
    assert re.fullmatch("[0-9a-f]{12}", stack)
    (tag,) = target["tags"]
    assert tag.removesuffix("-unlocked") == f"atomstack/atom-vllm:instinct-{stack}"
    assert json.loads(target["args"]["STACK_JSON"])["stack_id"] == stack


@pytest.mark.parametrize(
    ("component", "moved"),
    [
        ("base", {"base", "torch", "atom"} | ABOVE_TORCH),
        ("torch", {"torch"} | ABOVE_TORCH),
        ("aiter", {"aiter", "stack"}),
        ("cupy", {"cupy", "stack"}),
        ("lmcache", {"lmcache", "stack"}),
        ("vllm", {"vllm", "stack"}),
        ("atom", {"atom", "stack"}),
        ("atom-vllm", {"stack"}),
        ("gate", set()),
    ],
)
def test_a_recipe_changes_its_component_and_what_stands_on_it(
    bake, tmp_path: Path, component: str, moved: set[str]
) -> None:
    recipes = committed(bake, "ATOMSTACK_LOCK")["recipes"]
    assert component in recipes
    other = bake.print("all", override=with_lock(bake, tmp_path, recipes={**recipes, component: "0" * 64}))
    assert changed(ids(bake.print("all")), ids(other)) == moved


@pytest.mark.parametrize(
    ("wheel", "moved"),
    [("torch", {"torch", "vllm", "stack"}), ("vllm", {"vllm", "stack"})],
)
def test_a_wheel_with_another_hash_is_another_portable_stack(bake, tmp_path: Path, wheel: str, moved: set[str]) -> None:
    wheels = committed(bake, "ATOMSTACK_LOCK")["wheels"]
    other = with_lock(bake, tmp_path, wheels={**wheels, wheel: {**wheels[wheel], "sha256": "0" * 64}})
    portable = {"MANIFEST": "portable"}
    assert changed(ids(bake.print("all", env=portable)), ids(bake.print("all", env=portable, override=other))) == moved


# --- locked and unlocked


def test_a_locked_source_is_fetched_by_its_commit(bake, tmp_path: Path) -> None:
    override = everything_locked(bake, tmp_path)
    target = bake.print("all", env={"FROZEN": "1"}, override=override)["target"]
    assert target["vllm-wheel"]["contexts"]["vllm-src"] == f"https://github.com/vllm-project/vllm.git#{2:040x}"
    assert target["gate"]["contexts"]["consumer"] == f"https://github.com/ROCm/ATOM.git#{1:040x}"
    assert target["base"]["args"]["BASE_IMAGE"].endswith("@sha256:" + "ab" * 32)
    labels = target["atom-vllm"]["labels"]
    assert labels["atomstack.locked"] == "true"
    assert labels["atomstack.vllm.resolved"] == f"{2:040x}"
    assert labels["atomstack.vllm.version"] == "1.2.3"
    assert labels["org.opencontainers.image.base.digest"] == "sha256:" + "ab" * 32
    assert not target["atom-vllm"]["tags"][0].endswith("unlocked")


def test_a_full_commit_is_its_own_lock(bake, tmp_path: Path) -> None:
    override = everything_locked(bake, tmp_path)
    target = bake.print("all", env={"FROZEN": "1", "ATOM_REF": COMMIT}, override=override)["target"]
    assert target["atom"]["contexts"]["atom-src"] == f"https://github.com/ROCm/ATOM.git#{COMMIT}"


def test_locking_a_pin_changes_its_id(bake, tmp_path: Path) -> None:
    key = "https://github.com/ROCm/aiter.git#v0.1.28.post1"
    entry = {"commit": COMMIT, "version": None, "submodules": None, "time": None}
    locked = bake.print("all", override=with_lock(bake, tmp_path, sources={key: entry}))
    unlocked = bake.print("all", override=with_lock(bake, tmp_path, sources={}))
    assert changed(ids(locked), ids(unlocked)) == {"aiter", "stack"}
    assert locked["target"]["aiter"]["args"]["VERSION"] == "", "a version that could not be had is not invented"


def test_an_unlocked_pin_is_said_in_tag_and_label(bake, tmp_path: Path) -> None:
    target = bake.print("atom-vllm", override=with_lock(bake, tmp_path, sources={}, images={}))["target"]["atom-vllm"]
    assert target["tags"][0].endswith("-unlocked")
    assert target["labels"]["atomstack.locked"] == "unlocked"
    assert "VLLM_REF=v0.31.0" in target["labels"]["atomstack.unlocked"]


def test_frozen_refuses_what_is_unlocked_and_names_it(bake, tmp_path: Path) -> None:
    override = everything_locked(bake, tmp_path)
    refusal = bake.refusal("all", env={"FROZEN": "1", "AITER_REF": "main"}, override=override)
    assert "FROZEN=1" in refusal
    assert "AITER_REF=main" in refusal
    assert "VLLM_REF" not in refusal
    assert "atomstack lock" in refusal


def test_frozen_does_not_take_the_lock_at_its_word(bake, tmp_path: Path) -> None:
    """A commit is 40 hex digits: a lock that a hand or a merge damaged locks nothing."""
    document = json.loads(everything_locked(bake, tmp_path).read_text())
    lock = document["variable"]["ATOMSTACK_LOCK"]["default"]
    for key, entry in lock["sources"].items():
        if "vllm" in key:
            entry["commit"] = "main"
    for reference in lock["images"]:
        lock["images"][reference] = "latest"
    damaged = tmp_path / "damaged.json"
    damaged.write_text(json.dumps(document))
    refusal = bake.refusal("all", env={"FROZEN": "1"}, override=damaged)
    for pin in ("VLLM_REF=v0.31.0", "BASE_IMAGE=", "GATE_IMAGE="):
        assert pin in refusal
    assert "ATOM_REF" not in refusal


def test_frozen_refuses_a_wheel_that_only_its_version_names(bake, tmp_path: Path) -> None:
    """Another file of the same version can take its place on the index; so, too, AMD's SDK, which comes with it."""
    env = {"FROZEN": "1", "TORCH_VERSION": "2.13.0+rocm10.0.0"}
    assert "TORCH_VERSION=2.13.0" in bake.refusal("all", env=env, override=everything_locked(bake, tmp_path))
    assert bake.print("base")["target"]["base"]["args"]["SDK_INDEX"] == "", "no SDK without TORCH_VERSION"


def test_frozen_does_not_ask_for_what_the_fleet_does_not_ship(bake) -> None:
    assert "AITER_REF" not in bake.refusal("all", env={"FROZEN": "1", "MANIFEST": "portable"})


# --- refusals


def test_a_wrong_manifest_is_one_sentence_that_lists_the_right_ones(bake) -> None:
    refusal = bake.refusal("all", env={"MANIFEST": "zz"})
    assert "MANIFEST=zz: no such manifest. There are: instinct, portable, snoc." in refusal


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ATOM_REF", "-x"),
        ("VLLM_REF", "v 1"),
        ("VLLM_REF", "v1..v2"),
        ("VLLM_REF", "v1."),
        ("VLLM_REF", "a/.b"),
        ("VLLM_REF", COMMIT.upper()),  # Git writes a commit in lower case: it would be asked for as a branch
        ("AITER_REF", ""),
        ("LMCACHE_REF", "a;b"),
        ("CUPY_REF", "x.lock"),
        ("ATOM_REPO", "/srv/atom"),
        ("VLLM_REPO", "file:///srv/vllm"),
        ("VLLM_REPO", "https://github.com/a/b.git#main"),
        ("ATOM_REPO", "https://somebody:password@github.com/a/b.git"),  # labels would publish it
        ("ATOM_REPO", "https://github.com/a/b.git?ref=main"),
        ("ATOM_REPO", 'https://github.com/a/"b".git'),
        ("TORCH_INDEX", "http://example.com/"),
        ("TORCH_VERSION", "latest"),
        ("TORCH_INDEX", "https://example.com/"),  # serves nothing: the default tuple compiles torch
        ("ROCM_VERSION", "seven"),
        ("ROCM_VERSION", "7 2"),  # not BASE_IMAGE, which is made of it
        ("BASE_IMAGE", "ubuntu"),
        ("BASE_IMAGE", "localhost:5000/ubuntu"),
        ("BASE_IMAGE", "ubuntu@sha256:" + "a" * 63),
        ("BASE_IMAGE", "a:b:c"),
        ("GATE_IMAGE", "Python:3"),
        ("REGISTRY", "registry.example.com"),
        ("REGISTRY", "https://registry.example.com/"),
        ("CACHE", "registry.example.com/cache:tag"),
        ("CACHE", "registry.example.com/cache,mode=max"),
        ("CACHE", "../cache"),
        ("FROZEN", "yes"),
        ("PORTABLE_ROOTFS", "abc"),
    ],
)
def test_a_malformed_pin_is_refused_by_its_own_validation(bake, variable: str, value: str) -> None:
    refusal = bake.refusal("all", env={variable: value})
    assert f"{variable}={value}: expected" in refusal
    assert "other diagnostic" not in refusal


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("VLLM_REF", "v0.33.0"),
        ("VLLM_REPO", "https://github.com/a/b.git"),
        ("AITER_REF", "main"),
        ("LMCACHE_REF", "main"),
        ("CUPY_REF", "main"),
        ("TORCH_REF", "main"),
        ("TORCH_VERSION", "2.13.0"),
        ("TORCH_INDEX", "https://example.com/"),
        ("TRITON_REF", "main"),
        ("ROCM_VERSION", "7.2.3"),
        ("BASE_IMAGE", "docker.io/library/ubuntu:22.04"),
        ("GATE_IMAGE", "docker.io/library/python:3.12"),
    ],
)
def test_portable_refuses_a_pin_that_it_would_ignore(bake, variable: str, value: str) -> None:
    refusal = bake.refusal("all", env={"MANIFEST": "portable", variable: value})
    assert f"{variable} has no effect under MANIFEST=portable" in refusal


def test_portable_takes_any_git_repository_of_atom(bake) -> None:
    env = {"MANIFEST": "portable", "ATOM_REPO": "git://127.0.0.1/atom.git", "ATOM_REF": "main"}
    target = bake.print("all", env=env)["target"]
    assert target["atom"]["contexts"]["atom-src"] == "git://127.0.0.1/atom.git#main"
    assert target["atom-vllm"]["labels"]["atom.source"] == "upstream"


def test_the_in_tree_plugin_is_called_reference(bake) -> None:
    labels = bake.print("atom-vllm", env={"MANIFEST": "portable"})["target"]["atom-vllm"]["labels"]
    assert labels["atom.source"] == "reference"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ATOM_REPO", "ssh://git@github.com/ROCm/ATOM.git"),
        ("ATOM_REPO", "git@github.com:ROCm/ATOM.git"),
        ("ATOM_REF", "refs/pull/1/head"),
        ("REGISTRY", ""),
        ("REGISTRY", "localhost:5000/"),
        ("REGISTRY", "registry.example.com:5000/a_b/c-d/"),
        ("CACHE", "localhost:5000/cache"),
        ("BASE_IMAGE", "ubuntu:22.04"),
        ("BASE_IMAGE", "localhost:5000/rocm/dev:7.2.3@sha256:" + "a" * 64),
        ("BASE_IMAGE", "registry.example.com/rocm@sha256:" + "a" * 64),
    ],
)
def test_a_well_formed_value_is_taken(bake, variable: str, value: str) -> None:
    bake.print("all", env={variable: value})


def test_a_file_of_this_machine_may_have_any_name(bake, tmp_path: Path) -> None:
    """Written as one string, a comma would end the path and a quote the parser."""
    bundle = tmp_path / 'a, "b".pem'
    bundle.touch()
    target = bake.print("base", env={"CA_BUNDLE": str(bundle), "PIP_CONF": str(bundle)})["target"]["base"]
    assert {secret["src"] for secret in target["secret"]} == {str(bundle)}


def test_two_origins_of_torch_are_refused(bake) -> None:
    refusal = bake.refusal("all", env={"TORCH_REF": "main", "TORCH_VERSION": "2.13.0+rocm10.0.0"})
    assert "exactly one" in refusal


def test_the_graph_without_its_lock_fails(bake) -> None:
    """`-f docker-bake.hcl` alone must not silently build unlocked."""
    done = bake.run("--print", "all", override=REPOSITORY / "docker-bake.hcl")
    assert done.returncode != 0
    assert 'There is no variable named "ATOMSTACK_MANIFESTS"' in done.stderr


def test_an_environment_variable_named_like_an_id_changes_nothing(bake) -> None:
    assert bake.print("all", env={"stack_id": "000000000000", "locked": "true"}) == bake.print("all")


# --- targets, groups and labels


@pytest.mark.parametrize("manifest", ["instinct", "snoc", "portable"])
def test_every_target_and_group_resolves(bake, manifest: str) -> None:
    for name in (*COMPONENTS, "gate", "default", "wheels", "all"):
        assert bake.print(name, env={"MANIFEST": manifest})["target"], name
    assert "atom-vllm" in bake.print(env={"MANIFEST": manifest})["group"]["default"]["targets"]


def test_portable_compiles_no_kernels(bake) -> None:
    target = bake.print("all", env={"MANIFEST": "portable"})["target"]
    assert {target[name]["target"] for name in ("aiter", "cupy", "lmcache")} == {"none"}
    assert not [
        c for t in target.values() for c in t.get("contexts", {}).values() if c.startswith(("https:", "docker-image:"))
    ]


def test_every_dockerfile_and_stage_that_a_target_names_is_there(bake) -> None:
    for manifest in ("instinct", "portable"):
        for name, target in bake.print("all", env={"MANIFEST": manifest})["target"].items():
            dockerfile = (REPOSITORY / target["dockerfile"]).read_text()
            stages = set(re.findall(r"^FROM .* AS (\S+)", dockerfile, re.MULTILINE))
            assert target.get("target") in stages | {None}, name


def test_every_compile_waits_for_the_gate(bake) -> None:
    target = bake.print("all")["target"]
    for name in ("torch", "aiter", "cupy", "lmcache", "vllm-wheel", "vllm", "atom"):
        assert target[name]["contexts"]["verdict"] == "target:gate", name


@pytest.mark.parametrize("manifest", ["instinct", "snoc", "portable"])
def test_every_image_says_what_it_is_in_labels_and_annotations(bake, manifest: str) -> None:
    target = bake.print("all", env={"MANIFEST": manifest})["target"]
    images = {name for name in target if target[name].get("tags")}
    assert images == {"base", "torch", "vllm", "atom-vllm"}
    for name in images:
        labels = target[name]["labels"]
        said = {
            "org.opencontainers.image.title": name,
            "org.opencontainers.image.version": labels["atomstack.id"],
            "atomstack.manifest": manifest,
            "atomstack.flavour": "portable" if manifest == "portable" else "rocm",
        }
        assert said.items() <= labels.items()
        more = {
            "org.opencontainers.image.description",
            "org.opencontainers.image.base.name",
            "atomstack.locked",
        }
        assert more <= labels.keys()
        assert labels["atomstack.manifest.hash"] == committed(bake, "ATOMSTACK_MANIFESTS")[manifest]["hash"]
        assert labels["atomstack.id"] in target[name]["tags"][0]
        assert set(target[name]["annotations"]) == {f"{key}={value}" for key, value in labels.items() if value}


def test_atom_vllm_records_every_pin(bake) -> None:
    labels = bake.print("atom-vllm")["target"]["atom-vllm"]["labels"]
    for component in ("base", "torch", "triton", "aiter", "cupy", "lmcache", "vllm", "atom"):
        for fact in ("source", "ref", "resolved", "id", "ships"):
            assert labels.get(f"atomstack.{component}.{fact}"), (component, fact)
    said = " ".join(labels.values())
    for variable in json.loads(bake.run("--list=type=variables,format=json").stdout):
        if re.search(r"_(REPO|REF|VERSION|INDEX|IMAGE)$", variable["name"]):
            assert variable.get("value", "") in said, variable["name"]


def test_the_targets_that_make_and_ci_name_are_there(bake) -> None:
    """A typo in a Makefile shows only when somebody runs that rule."""
    resolved = bake.print("all")
    known = resolved["target"].keys() | resolved["group"].keys() | {"all", "default", "wheels"}
    files = [
        "Makefile",
        ".ci/run",
        "README.md",
        *(REPOSITORY / ".github/workflows").glob("*.yml"),
        *(REPOSITORY / "env").glob("*.env"),
    ]
    named = set()
    for file in files:
        for words in re.findall(
            r"(?:bake\.sh|buildx bake)((?: +-\S+| +[a-z][a-z-]*)+)", (REPOSITORY / file).read_text()
        ):
            named |= {word for word in words.split() if not word.startswith("-")}
    assert {"atom-vllm", "gate", "wheels"} <= named
    assert named <= known
