"""Addresses, listing and credentials of the Hugging Face hub, over plain HTTP.

`HF_ENDPOINT` names another hub (a mirror inside a company); `HF_TOKEN` is sent to it and never shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from authbench.data.catalog import Hub
from authbench.data.download import NotThere, Unreachable
from authbench.errors import DataError


def file_url(hub: Hub, path: str) -> str:
    """The address of a file of a data set repository at its pinned revision."""
    return f"{_endpoint()}/datasets/{hub.id}/resolve/{hub.revision}/{path}"


def listing(hub: Hub, path: str) -> Sequence[Mapping[str, Any]]:
    """The hub's list of everything below `path` at the pinned revision (one page holds 1,000 entries)."""
    import httpx

    url = f"{_endpoint()}/api/datasets/{hub.id}/tree/{hub.revision}/{path}"
    try:
        response = httpx.get(
            url, params={"recursive": "true"}, headers=authorization(), timeout=30, follow_redirects=True
        )
        if response.status_code == 404:
            raise NotThere(f"{url}: not on the hub (404)")
        response.raise_for_status()
        entries = response.json()
    except httpx.TransportError as error:
        raise Unreachable(f"{_endpoint()} cannot be reached ({error})") from error
    except httpx.HTTPStatusError as error:
        raise DataError(f"{url}: the hub answered {error.response.status_code}") from error
    except ValueError as error:
        raise DataError(f"{url}: the hub's listing is not JSON") from error
    if not isinstance(entries, list):
        raise DataError(f"{url}: the hub's listing is not a list")
    return entries


def authorization() -> dict[str, str]:
    """The header with HF_TOKEN, or none; for requests to the hub's own host only."""
    token = os.environ.get("HF_TOKEN", "").strip()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
