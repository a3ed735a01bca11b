"""Which platform vLLM would pick if this plugin were not there."""

import logging

from vllm.platforms import builtin_platform_plugins

logger = logging.getLogger("vllm.atom")

ROCM = "vllm.platforms.rocm.RocmPlatform"
CUDA = "vllm.platforms.cuda.CudaPlatform"
CPU = "vllm.platforms.cpu.CpuPlatform"
ZEN_CPU = "vllm.platforms.zen_cpu.ZenCpuPlatform"
SUPPORTED = (ROCM, CUDA, CPU, ZEN_CPU)


def host_platform() -> str | None:
    """The dotted path of vLLM's own platform class for this machine.

    None when no built-in platform answers, or more than one does: vLLM then decides, or raises, by itself.
    The rule is that of `vllm.platforms.resolve_current_platform_cls_qualname`, where a built-in that raises
    has not answered.
    """
    found = []
    for name, probe in builtin_platform_plugins.items():
        try:
            qualname = probe()
        except Exception:  # vLLM's own rule, see above
            logger.debug("vLLM's platform %s could not be probed", name, exc_info=True)
            continue
        if qualname is not None:
            found.append(qualname)
    return found[0] if len(found) == 1 else None
