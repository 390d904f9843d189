"""The late-interaction miner: encode pages into shards, then score shard by shard."""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from builders.vidore.colqwen import Encoder, Page, default_device, precision
from builders.vidore.maxsim import MaxSim
from builders.vidore.recipe import Recipe
from builders.vidore.shards import pack_shard, read_shard, shard_key, write_shard
from builders.vidore.sources import Source
from mteb_nano.errors import UserError
from mteb_nano.manifest import sha256_of

if TYPE_CHECKING:
    from builders.vidore.ray_encode import RayPool


@dataclass(frozen=True)
class Shard:
    """Some pages of a source, encoded together into one file."""

    path: Path
    page_ids: Sequence[str]


class LateInteractionMiner:
    """Scores pages with a ColQwen3.5 model; embeddings are kept, so that a stopped run goes on."""

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        options: argparse.Namespace,
    ) -> None:
        """Name the model; it is loaded when there is something to encode.

        Args:
            recipe: miner, miner_revision, visual_tokens.
            folder: Where the shards are kept.
            options: batch_size, shard_pages, device, engine, workers, quiet.
        """
        self._recipe, self._folder, self._options = recipe, folder, options
        self._device = options.device or default_device()
        self._encoder_device = options.device or _encoder_device(options)
        self._encoder: Encoder | None = None
        self._pool: RayPool | None = None
        self.about: dict[str, Any] = {
            "model": _public_name(recipe.miner),
            "revision": _revision(recipe),
            "reads": "image",
            "visual_tokens": recipe.visual_tokens,
            "precision": str(precision(self._encoder_device)).removeprefix("torch."),
        }

    def score(self, source: Source, query_ids: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return (n_queries, n_pages) scores, computed in float32."""
        shards = self._shards(source)
        missing = [s for s in shards if read_shard(s.path, len(s.page_ids)) is None]
        self._encode(source, missing)
        max_sim = MaxSim(self._queries(source, query_ids), self._device)
        columns = []
        for shard in shards:
            tokens, lengths = _read_again(shard)
            columns.append(max_sim.score(tokens, lengths))
        return torch.cat(columns, dim=1).double().numpy()

    def _shards(self, source: Source) -> list[Shard]:
        """Return the shards of a source, in the order of its pages."""
        shards = []
        for start in range(0, len(source.page_ids), self._options.shard_pages):
            stop = start + self._options.shard_pages
            key = shard_key(self.about, source.image_hashes[start:stop])
            path = self._folder / f"pages-{key}.safetensors"
            shards.append(Shard(path, source.page_ids[start:stop]))
        return shards

    def _encode(self, source: Source, shards: Sequence[Shard]) -> None:
        """Write the shards."""
        jobs = ((shard, _pages_of(source, shard)) for shard in shards)
        encode = self._encode_here
        if self._options.engine == "ray" and shards:
            encode = self._ray_pool().encode
        n_pages = len(source.page_ids)
        n_left = sum(len(shard.page_ids) for shard in shards)
        with tqdm(
            total=n_pages,
            initial=n_pages - n_left,
            desc=source.name,
            unit="page",
            disable=self._options.quiet,
        ) as progress:
            for shard, content in encode(jobs):
                write_shard(shard.path, content)
                progress.update(len(shard.page_ids))

    def _encode_here(
        self, jobs: Iterator[tuple[Shard, Sequence[Page]]]
    ) -> Iterator[tuple[Shard, bytes]]:
        """Yield each shard with its content, encoded in this process."""
        for shard, pages in jobs:
            batch_size = self._options.batch_size
            yield shard, pack_shard(list(self._load().encode_pages(pages, batch_size=batch_size)))

    def _ray_pool(self) -> "RayPool":
        """Return the encoders of the cluster, started once."""
        if self._pool is None:
            from builders.vidore.ray_encode import RayPool

            self._pool = RayPool(self._load_arguments(), self._options)
        return self._pool

    def _queries(self, source: Source, query_ids: Sequence[str]) -> list[torch.Tensor]:
        """Return the queries' embeddings, from their shard where it is there."""
        texts = [source.queries[query_id].text for query_id in query_ids]
        hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        path = self._folder / f"queries-{shard_key(self.about, hashes)}.safetensors"
        if read_shard(path, len(texts)) is None:
            write_shard(path, self._encode_queries(texts))
        tokens, lengths = _read_again(Shard(path, query_ids))
        return list(tokens.split(lengths))

    def _encode_queries(self, texts: Sequence[str]) -> bytes:
        """Return the packed shard of some queries."""
        if self._options.engine == "ray":
            return self._ray_pool().encode_queries(texts)
        return pack_shard(self._load().encode_queries(texts))

    def _load(self) -> Encoder:
        """Return the model, loaded once."""
        if self._encoder is None:
            self._encoder = Encoder(**self._load_arguments())
        return self._encoder

    def _load_arguments(self) -> dict[str, Any]:
        """Return what `Encoder` wants."""
        recipe = self._recipe
        return {
            "model": recipe.miner,
            "revision": None if Path(recipe.miner).is_dir() else self.about["revision"],
            "visual_tokens": recipe.visual_tokens,
            "device": self._encoder_device,
        }


def _encoder_device(options: argparse.Namespace) -> str:
    """Return where pages are encoded: with Ray on the workers' GPUs, if the cluster has any."""
    if options.engine == "ray":
        from builders.vidore.ray_encode import count_gpus

        return "cuda" if count_gpus() else "cpu"
    return default_device()


def _pages_of(source: Source, shard: Shard) -> list[Page]:
    """Return the images of a shard, in its order."""
    images = dict(source.images(set(shard.page_ids)))
    return [(f"{source.name}, page {page_id}", images[page_id]) for page_id in shard.page_ids]


def _read_again(shard: Shard) -> tuple[torch.Tensor, list[int]]:
    """Return a shard that was just written or checked."""
    found = read_shard(shard.path, len(shard.page_ids))
    if found is None:
        raise UserError(
            f"{shard.path}: was changed while it was in use; run the same command again"
        )
    return found


def _public_name(miner: str) -> str:
    """Return the model's name for the manifest: of a folder its last part, not its path."""
    return Path(miner).resolve().name if Path(miner).is_dir() else miner


def _revision(recipe: Recipe) -> str:
    """Return the commit, or what stands for a folder's content."""
    folder = Path(recipe.miner)
    if folder.is_dir():
        files = sorted(p for p in folder.rglob("*") if p.is_file())
        lines = [f"{p.relative_to(folder).as_posix()} {sha256_of(p)}\n" for p in files]
        return "local-" + hashlib.sha256("".join(lines).encode()).hexdigest()[:12]
    if recipe.miner_revision:
        return recipe.miner_revision
    from builders.vidore.search import find_model

    return find_model(recipe.miner, None).revision or "main"
