"""Inside the served image: mixed into vLLM's worker (--worker-extension-cls), so it runs where the model runs."""

import os


def dotted(cls):
    """`module.Class`."""
    return f"{cls.__module__}.{cls.__qualname__}"


class Observer:
    """Two calls over vLLM's own RPC to its workers."""

    def watch(self):
        """From now on, count the calls of the model that vLLM's runner makes in this process."""
        self.forwards = 0

        def count(_module, _arguments):
            self.forwards += 1

        self.model_runner.model.register_forward_pre_hook(count)

    def observed(self):
        """What this process is, and what it runs."""
        from vllm.platforms import current_platform

        model = self.model_runner.model
        return {
            "pid": os.getpid(),
            "platform": dotted(type(current_platform)),
            "model": dotted(type(model)),
            "modules": sorted({dotted(type(module)) for module in model.modules()}),
            "forwards": self.forwards,
        }
