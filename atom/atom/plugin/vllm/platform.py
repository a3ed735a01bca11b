"""The platform that `register_platform` names. Import it only where that hook did not stand down.

The base class is vLLM's own for this machine; only that one is imported, for the others may need libraries
that are not here.
"""

from atom.plugin.vllm.host import CPU, CUDA, ROCM, ZEN_CPU, host_platform

_HOST = host_platform()

if _HOST == ROCM:
    from vllm.platforms.rocm import RocmPlatform as HostPlatform
elif _HOST == CUDA:
    from vllm.platforms.cuda import CudaPlatform as HostPlatform
elif _HOST == CPU:
    from vllm.platforms.cpu import CpuPlatform as HostPlatform
elif _HOST == ZEN_CPU:
    from vllm.platforms.zen_cpu import ZenCpuPlatform as HostPlatform
else:
    raise ImportError(f"ATOM's platform goes over ROCm, CUDA or CPU; vLLM would pick {_HOST}")


class ATOMPlatform(HostPlatform):
    """vLLM's platform under ATOM's name: it answers everything as its base does."""
