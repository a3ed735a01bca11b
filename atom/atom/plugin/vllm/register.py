"""The two entry points. vLLM calls them in every process, some more than once: both are idempotent.

Neither imports vLLM before it is called, so that loading an entry point cannot fail.
"""

import logging
import os

# vLLM gives handlers and a level to its own loggers only; outside "vllm" nothing below WARNING is seen. What
# the platform hook says before vLLM has set up logging is lost, as vLLM's own lines about plugins are.
logger = logging.getLogger("vllm.atom")

PLATFORM = "atom.plugin.vllm.platform.ATOMPlatform"

# Architecture, as config.json spells it -> "module:class". vLLM imports the class where it needs it.
MODEL_OVERRIDES = {
    "LlamaForCausalLM": "atom.models.llama:LlamaForCausalLM",
}


def is_disabled() -> bool:
    """Whether ATOM_DISABLE_VLLM_PLUGIN=1 is set; read at each call, for tests and parents change it."""
    return os.environ.get("ATOM_DISABLE_VLLM_PLUGIN", "0") == "1"


def register_platform() -> str | None:
    """The dotted path of the platform class, or None to leave the choice to vLLM."""
    if is_disabled():
        logger.info("ATOM's platform stands down: ATOM_DISABLE_VLLM_PLUGIN=1")
        return None

    from atom.plugin.vllm.host import SUPPORTED, host_platform

    host = host_platform()
    if host not in SUPPORTED:
        logger.warning("ATOM's platform stands down: it goes over ROCm, CUDA or CPU, and vLLM would pick %s", host)
        return None
    return PLATFORM


def register_model() -> None:
    """Override vLLM's classes for the architectures in `MODEL_OVERRIDES`."""
    if is_disabled():
        logger.info("ATOM's models stand down: ATOM_DISABLE_VLLM_PLUGIN=1")
        return

    from vllm import ModelRegistry

    from atom.plugin.prepare import set_framework_backbone

    set_framework_backbone("vllm")
    for architecture, target in MODEL_OVERRIDES.items():
        ModelRegistry.register_model(architecture, target)
        logger.info("ATOM's %s is the class for %s", target, architecture)
