"""What holds for the vllm image and every image on it."""

from e2e.base import test_base
from e2e.conftest import docker, in_image


class TestVllm(test_base.TestBase):
    """All of base's tests, and vLLM itself."""

    target = "vllm"

    def test_every_wheel_of_the_lock_is_installed_at_the_locked_version(self, images, image):
        lock = (images.path / "docker/vllm/portable.lock").read_text().splitlines()
        locked = {line.split()[0] for line in lock if line and not line.startswith("#")}
        code = (
            "import importlib.metadata as m, re;"
            "[print(re.sub('[-_.]+', '-', d.name).lower() + '==' + d.version) for d in m.distributions()]"
        )
        installed = set(docker("run", "--rm", "--network=none", image, "python3", "-c", code).split())
        assert locked <= installed

    def test_vllm_loads_its_compiled_part_and_takes_the_cpu_for_its_platform(self, image):
        """vllm._C needs libnuma1; the platform needs "cpu" in the version of the distribution vllm."""
        code = "import vllm._C; from vllm.platforms import current_platform as p; print(p.device_type)"
        assert in_image(image, f"python3 -c '{code}'").split()[-1] == "cpu"

    def test_the_command_vllm_knows_its_version(self, image):
        assert in_image(image, "vllm --version").split()[-1] == "0.32.0+cpu"

    def test_what_inductor_compiles_with_is_there(self, image):
        """torch.compile on the CPU writes C++ that includes Python.h and omp.h."""
        script = (
            "cd /tmp && printf '#include <Python.h>\\n#include <omp.h>\\nint main() { return omp_get_max_threads() < 1; }'"
            " >t.cc && g++ -fopenmp -I$(python3 -c 'import sysconfig; print(sysconfig.get_path(\"include\"))') t.cc -o t"
            " && ./t && echo compiled"
        )
        assert in_image(image, script).strip() == "compiled"
