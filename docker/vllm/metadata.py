"""Give the environment a distribution named vllm, metadata only: the CPU wheel has another name.

`vllm serve` asks importlib.metadata for the version of `vllm`, and vLLM takes itself for a CPU build only
when that version has "cpu" in it (vllm.platforms.cpu_platform_plugin). Upstream's own are X+cpu too.

    metadata.py DISTRIBUTION VERSION
"""

import pathlib
import sys
import sysconfig

distribution, version = sys.argv[1:]
folder = pathlib.Path(sysconfig.get_path("purelib"), f"vllm-{version}+cpu.dist-info")
folder.mkdir()
(folder / "METADATA").write_text(
    f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
    f"Summary: Metadata only: the package vllm was installed by the distribution {distribution} {version}\n"
)
(folder / "INSTALLER").write_text("atomstack\n")
(folder / "RECORD").write_text("".join(f"{folder.name}/{name},,\n" for name in ("INSTALLER", "METADATA", "RECORD")))
