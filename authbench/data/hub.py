"""Data set repositories on the Hugging Face hub, through huggingface_hub: what they list, addresses, token.

huggingface_hub reads `HF_ENDPOINT` (another hub, such as a mirror inside a company) and `HF_TOKEN`, which is
sent to the hub's own host only and never shown. What a repository lists at a revision never changes, so it
is kept in the cache: it says which files there are, and what their sizes and hashes must be.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from authbench.data.catalog import Hub
from authbench.data.digests import write_atomically
from authbench.data.download import Unreachable, refusal
from authbench.errors import DataError

_TIMEOUT = 15.0  # seconds


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the hub lists it.

    Attributes:
        size: bytes.
        etag: SHA-256 of a large file (64 hexadecimal digits), git's SHA-1 of any other (40).
    """

    size: int
    etag: str

    @property
    def sha256(self) -> str | None:
        """The SHA-256, where the hub states one."""
        return self.etag if len(self.etag) == 64 else None


Listing = Mapping[str, HubFile]


def known_listing(hub: Hub, cache: Path) -> Listing | None:
    """What an earlier `listing` of the repository at its revision found; None if there was none."""
    try:
        entries = json.loads(_kept(hub, cache).read_text(encoding="utf-8"))
        return {path: HubFile(size, etag) for path, (size, etag) in entries.items()}
    except (OSError, ValueError, TypeError, AttributeError):  # not there, or damaged: it is asked for again
        return None


def listing(hub: Hub, cache: Path) -> Listing:
    """Ask the hub for the files of the repository at its revision, by path, and keep the answer in the cache.

    Raises:
        Unreachable: no connection. NotThere: no such repository or revision.
        DataError: any other answer; one that names a file outside the repository.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError  # the latter of the client it is built on

    api = HfApi()
    try:
        info = api.dataset_info(hub.id, revision=hub.revision, files_metadata=True, timeout=_TIMEOUT)
    except HfHubHTTPError as error:
        raise refusal(error.response.status_code, f"{api.endpoint}/datasets/{hub.id}") from error
    except (HTTPError, OSError) as error:
        raise Unreachable(f"{api.endpoint} cannot be reached ({error})") from error
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{api.endpoint}: what the hub lists of {hub.id} cannot be read ({error!r})"
        ) from error
    found = {
        file.rfilename: HubFile(file.size or 0, file.lfs.sha256 if file.lfs else file.blob_id or "")
        for file in info.siblings or ()
    }
    for path in found:
        if path.startswith("/") or ".." in path.split("/"):
            raise DataError(f"the hub lists a file outside its repository: {path}")
    entries = {path: [file.size, file.etag] for path, file in found.items()}
    write_atomically(_kept(hub, cache), json.dumps(entries, indent=1))
    return found


def file_url(hub: Hub, path: str) -> str:
    """The address of a file at the pinned revision."""
    from huggingface_hub import hf_hub_url

    return str(hf_hub_url(hub.id, path, repo_type="dataset", revision=hub.revision))


def headers() -> dict[str, str]:
    """What is sent with a request: the client's name, and the user's token if there is one."""
    from huggingface_hub.utils import build_hf_headers

    return dict(build_hf_headers(library_name="authbench"))


def git_sha1(path: Path) -> str:
    """The hash by which git, and so the hub, names the content of a file that is not a large one."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _kept(hub: Hub, cache: Path) -> Path:
    return cache / "hub" / f"{hub.id.replace('/', '--')}@{hub.revision}.json"
