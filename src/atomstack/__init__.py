"""Lock, gate, build and verify a combination of ATOM, vLLM, aiter and ROCm."""

__version__ = "0.1.0"
