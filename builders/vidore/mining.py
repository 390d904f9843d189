"""Rank each source's pages for its sampled queries; finished sources are not done again."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from builders.vidore.candidates import (
    Candidates,
    load_candidates,
    rank_candidates,
    save_candidates,
)
from builders.vidore.plan import Plan
from builders.vidore.sources import Source
from mteb_nano.errors import UserError


class Miner(Protocol):
    """Something that scores all pages of a source for some of its queries.

    Attributes:
        about: What the scores depend on: model, revision and the like, as JSON.
    """

    about: dict[str, Any]

    def score(self, source: Source, query_ids: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return (n_queries, n_pages) scores in the order of ids, larger is closer."""
        ...


def mine_sources(
    sources: Mapping[str, Source],
    plan: Plan,
    miner: Miner,
    *,
    top_k: int,
    work: Path,
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Write the candidate lists of every source to the work folder.

    A query searches its own source only; a source whose file is there, whole, and made from the
    same things is left alone.
    """
    for name, source in sorted(sources.items()):
        path = candidates_file(work, name)
        query_ids = plan.query_ids(name)
        made_from = _made_from(source, query_ids, top_k=top_k) | {"miner": dict(miner.about)}
        found = load_candidates(path)
        if found is not None and found[1] == made_from:
            report(f"mine {name}: done before")
            continue
        report(f"mine {name}: {len(query_ids)} queries, {len(source.page_ids)} pages")
        scores = miner.score(source, query_ids)
        model = str(miner.about["model"])
        lists = rank_candidates(source, query_ids, scores, top_k=top_k, miner=model)
        save_candidates(path, lists, made_from)


def read_mined(
    sources: Mapping[str, Source], plan: Plan, *, top_k: int, work: Path
) -> tuple[dict[str, Candidates], dict[str, Any]]:
    """Return the candidate lists of every source, and what they were mined with.

    Raises:
        UserError: A file is missing, broken, or was made for other queries or by another miner.
    """
    lists: dict[str, Candidates] = {}
    miners: list[dict[str, Any]] = []
    faults = []
    for name, source in sorted(sources.items()):
        path = candidates_file(work, name)
        found = load_candidates(path)
        if found is None:
            faults.append(f"{path}: missing or broken")
            continue
        lists[name], made_from = found
        wanted = _made_from(source, plan.query_ids(name), top_k=top_k)
        if {key: made_from.get(key) for key in wanted} != wanted:
            faults.append(f"{path}: made from another source, other queries or another --top-k")
        miners.append(made_from["miner"])
    if not faults and any(miner != miners[0] for miner in miners):
        faults.append("the sources were mined with different models or settings")
    if faults:
        raise UserError("Run the step `mine` again:\n  " + "\n  ".join(faults))
    return lists, miners[0]


def candidates_file(work: Path, source: str) -> Path:
    """Return where the candidate lists of a source are kept."""
    return work / "candidates" / f"{source}.parquet"


def _made_from(source: Source, query_ids: Sequence[str], *, top_k: int) -> dict[str, Any]:
    """Return what candidate lists depend on, besides the miner."""
    return {"source": source.fingerprint, "query_ids": list(query_ids), "top_k": top_k}
