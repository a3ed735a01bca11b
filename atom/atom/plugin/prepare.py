"""Which serving framework this process belongs to. Nothing here imports one."""

FRAMEWORKS = ("vllm", "sglang", "atom")

_backbone = "atom"


def is_vllm() -> bool:
    """Whether vLLM runs the models."""
    return _backbone == "vllm"


def is_sglang() -> bool:
    """Whether SGLang runs the models."""
    return _backbone == "sglang"


def is_plugin_mode() -> bool:
    """Whether a framework other than ATOM itself runs the models."""
    return _backbone != "atom"


def set_framework_backbone(name: str) -> None:
    """Say which framework it is, whatever the case; ValueError for one that is not in `FRAMEWORKS`."""
    global _backbone  # noqa: PLW0603  one fact per process, set by the hook of the framework that runs it
    if name.lower() not in FRAMEWORKS:
        raise ValueError(f"{name!r} is no framework that ATOM plugs into; expected one of {', '.join(FRAMEWORKS)}")
    _backbone = name.lower()
