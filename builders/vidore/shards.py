"""Multi-vector embeddings on disk: unpadded bfloat16, about 256 pages a file, checked when read."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from builders.export import write_bytes


def shard_key(about: Mapping[str, Any], items: Sequence[str]) -> str:
    """Return the name of the shard that holds these items, encoded as `about` says.

    Args:
        about: Model, revision, visual-token cap, precision.
        items: Hash of each image, or each text.
    """
    text = json.dumps([dict(about), list(items)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def pack_shard(embeddings: Sequence[torch.Tensor]) -> bytes:
    """Return the file of some items' embeddings, each (n_tokens, dim)."""
    tokens = torch.cat(list(embeddings)).to(device="cpu", dtype=torch.bfloat16).contiguous()
    lengths = torch.tensor([len(item) for item in embeddings], dtype=torch.int64)
    digest = _digest(tokens, lengths)
    return save({"tokens": tokens, "lengths": lengths}, metadata={"sha256": digest})


def write_shard(path: Path, content: bytes) -> None:
    """Write a packed shard; atomic."""
    write_bytes(path, content)


def read_shard(path: Path, n_items: int) -> tuple[torch.Tensor, list[int]] | None:
    """Return (tokens, lengths); None if the file is absent, cut off, or not what was written."""
    try:
        with safe_open(path, framework="pt") as file:
            tokens, lengths = file.get_tensor("tokens"), file.get_tensor("lengths")
            written = (file.metadata() or {}).get("sha256")
    except (OSError, SafetensorError):
        return None
    if len(lengths) != n_items or written != _digest(tokens, lengths):
        return None
    return tokens, lengths.tolist()


def _digest(tokens: torch.Tensor, lengths: torch.Tensor) -> str:
    """Return a sha256 over shape and content."""
    digest = hashlib.sha256(str(tuple(tokens.shape)).encode())
    digest.update(lengths.numpy().tobytes())
    digest.update(tokens.view(torch.int16).numpy().data)
    return digest.hexdigest()
