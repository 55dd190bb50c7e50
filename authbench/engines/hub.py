"""Files of the hub: out of its cache, or fetched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from authbench.errors import EngineError, UnavailableError


def in_hub_cache(repo: str, file: str, revision: str | None) -> Path | None:
    """A file of the newest snapshot that the hub's cache holds, without asking the network."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        return None
    try:
        found = try_to_load_from_cache(repo, file, revision=revision)
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None


def from_hub(fetch: Callable[[], str], repo: str, what: str, way_out: str) -> Path:
    """What `fetch` downloads from `repo`; `what` it is and what else to do stand in the error.

    Raises:
        EngineError: the hub has no such thing, or gives it to nobody without an account.
        UnavailableError: the hub's client is not installed, or the hub not within reach.
    """
    try:
        from huggingface_hub import errors
    except ImportError as error:
        raise UnavailableError(
            f"{what} is not on this machine, and huggingface_hub is not installed to fetch it\n"
            f"pip install 'authbench[tokenizers]', or {way_out}"
        ) from error
    #: What its HTTP library raises, which is another one in other releases.
    http_error: type[Exception] = errors.HfHubHTTPError.__base__
    try:
        return Path(fetch())
    except errors.GatedRepoError as error:
        raise EngineError(
            f"{repo} is gated on the hub: accept its licence on its page and log in with 'hf auth login'"
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError) as error:
        raise EngineError(f"the hub has no {what}\n{way_out}") from error
    except (http_error, OSError, ValueError) as error:
        raise UnavailableError(
            f"{what} is not on this machine, and cannot be had from the hub ({type(error).__name__})\n"
            f"{way_out}"
        ) from error
