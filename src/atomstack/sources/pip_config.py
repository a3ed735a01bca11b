"""Which package indexes pip is configured for on this machine, read as pip documents it.

Later ones override earlier ones: the global files, the user's, the environment's (virtual environment), the
file that PIP_CONFIG_FILE names, the variables PIP_*. https://pip.pypa.io/en/stable/topics/configuration/
"""

import configparser
import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from atomstack.errors import CannotCheckError, UsageError

_SECTIONS = ("global", "install")


@dataclass(frozen=True, slots=True)
class PipConfig:
    """Base URLs of the package indexes, the main one first, and the CA bundle to trust, if one is named."""

    indexes: tuple[str, ...]
    cert: str | None


def read_pip_config(environ: Mapping[str, str] | None = None) -> PipConfig:
    """What `pip install` would use; where nothing names an index, the one built into the pip that is here."""
    environ = os.environ if environ is None else environ
    options = _file_options(environ)
    for name in ("index-url", "extra-index-url", "cert", "no-index"):
        if value := environ.get(f"PIP_{name.replace('-', '_').upper()}"):
            options[name] = value
    if options.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t"):
        raise CannotCheckError(
            "pip is configured not to use a package index (no-index): give a wheel or an sdist instead"
        )
    main = options.get("index-url", "").strip() or _built_in_index()
    return PipConfig((main, *options.get("extra-index-url", "").split()), options.get("cert"))


def _file_options(environ: Mapping[str, str]) -> dict[str, str]:
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for file in _files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise UsageError(f"{file}: not a pip configuration file: {error}") from None
        for name in _SECTIONS:
            if parser.has_section(name):
                items = parser.items(name)
                sections[name] |= {key.replace("_", "-").removeprefix("--"): value for key, value in items if value}
    return {key: value for name in _SECTIONS for key, value in sections[name].items()}


def _files(environ: Mapping[str, str]) -> list[Path]:
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    home = Path(environ.get("HOME") or "~").expanduser()
    system = [Path(folder) / "pip" for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if folder]
    user = [home / ".pip", Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip"]
    if named and Path(named).exists():
        user = []
    files = [folder / "pip.conf" for folder in (*system, Path("/etc"), *user, Path(sys.prefix))]
    return [*files, Path(named)] if named else files


def _built_in_index() -> str:
    try:
        return str(importlib.import_module("pip._internal.models.index").PyPI.simple_url)
    except (ImportError, AttributeError):
        raise CannotCheckError(
            f"no package index is configured and {sys.executable} has no pip to take the default from: "
            "set PIP_INDEX_URL"
        ) from None
