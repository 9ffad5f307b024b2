"""Commands that install what is missing, from where this portarray came."""

from __future__ import annotations

from pathlib import Path

__all__ = ["pip_install"]


def pip_install(requirement: str) -> str:
    """Return the command that installs a requirement, as ``portarray[files]`` or ``jax[cuda12]``.

    An extra of portarray comes from where portarray came: a checkout, a wheel, a repository or the
    package index.
    """
    name, bracket, extras = requirement.partition("[")
    if name != "portarray":
        return f'pip install "{requirement}"'
    source = _source()
    if "://" not in source:  # the index or a folder
        return f'pip install "{source or name}{bracket}{extras}"'
    return f'pip install "{requirement} @ {source}"'


def _source() -> str:
    """Return the folder or address that portarray was installed from, "" for the index."""
    # Lazy: only messages need them.
    import json
    from importlib import metadata
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    checkout = Path(__file__).parents[1]
    if (checkout / "pyproject.toml").is_file():
        return str(checkout)
    try:
        origin = metadata.distribution("portarray").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return ""
    if not origin:
        return ""
    entry = json.loads(origin)  # see the specification "Recording the Direct URL Origin"
    address: str = entry["url"]
    if "dir_info" in entry:
        return url2pathname(urlsplit(address).path)
    if "vcs_info" in entry:
        return f"{entry['vcs_info']['vcs']}+{address}@{entry['vcs_info']['commit_id']}"
    return address
