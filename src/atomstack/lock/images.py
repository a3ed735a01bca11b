"""An image reference with a tag -> the digest its registry serves for it now."""

import re

from atomstack.errors import CannotCheckError
from atomstack.lock.command import run


def digest(reference: str) -> str:
    """`sha256:<hex>` of the image index (or image manifest) behind `reference`.

    Asked through buildx, which knows the registry's login, its mirrors and its certificates as builds do.
    """
    # `json` because a format that begins with {{.Manifest is answered with a table of it
    command = [
        "docker",
        "buildx",
        "imagetools",
        "inspect",
        "--format",
        "{{json .Manifest.Digest}}",
        reference,
    ]
    answer = run(command, seconds=60).strip().strip('"')
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", answer):
        raise CannotCheckError(f"docker buildx imagetools inspect {reference} answered {answer[:80]!r}, not a digest")
    return answer
