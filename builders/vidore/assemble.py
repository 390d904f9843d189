"""Plan + candidates -> the merged corpus, queries and qrels, as a dataset folder."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builders.export import ROW_GROUP_ROWS, with_hub_features, write_dataset
from builders.vidore.candidates import Candidates
from builders.vidore.card import write_card
from builders.vidore.describe import describe_build
from builders.vidore.images import check_image
from builders.vidore.neardup import find_near_copies
from builders.vidore.plan import Plan
from builders.vidore.recipe import Recipe
from builders.vidore.rounding import apportion
from builders.vidore.selection import Negative, PageKey, Pool, Skip, fill_pool
from builders.vidore.sources import Source
from mteb_nano.errors import UserError

CORPUS, QUERIES, QRELS = (
    f"{part}/test-00000-of-00001.parquet" for part in ("corpus", "queries", "qrels")
)
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
CORPUS_SCHEMA = pa.schema(
    [
        ("_id", pa.string()),
        ("image", IMAGE),
        ("markdown", pa.large_string()),
        ("source_dataset", pa.string()),
        ("source_corpus_id", pa.string()),
        ("is_judged", pa.bool_()),
        ("doc_id", pa.string()),
        ("page_number_in_doc", pa.int64()),
        ("license", pa.string()),
    ]
)


@dataclass(frozen=True)
class Selection:
    """The chosen pages and how they were chosen."""

    quotas: Mapping[str, int]
    positives: Sequence[PageKey]
    negatives: Sequence[Negative]
    skips: Sequence[Skip]
    empty_pages: Mapping[str, int]

    @property
    def pages(self) -> list[PageKey]:
        """All pages of the pool, sorted."""
        return sorted([*self.positives, *((n.source, n.page_id) for n in self.negatives)])


def check_texts(sources: Mapping[str, Source], recipe: Recipe) -> None:
    """Raise a `UserError` if the rule for pages without text would pass over a whole source."""
    if recipe.empty_pages == "distinct":
        return
    for source in sources.values():
        if not source.has_text:
            raise UserError(
                f"{source.name}: none of its {len(source.page_ids):,} pages has text (scans?), so "
                f"--empty-pages {recipe.empty_pages} would leave out what is not judged: use "
                "--empty-pages distinct, and a miner that sees images, such as "
                "--miner mteb-nano/tesseract-bm25s"
            )


def select_pages(
    sources: Mapping[str, Source],
    plan: Plan,
    candidates: Mapping[str, Candidates],
    *,
    recipe: Recipe,
) -> Selection:
    """Return the pages of the pool.

    Raises:
        UserError: The positives alone exceed the pool size, pages or candidates do not fill it, or
            a source has no text at all.
    """
    check_texts(sources, recipe)
    positives = _positives(sources, plan)
    quotas = _quotas(sources, positives, recipe)
    names = sorted(sources)
    graph = find_near_copies(
        pa.chunked_array(
            [c for name in names for c in sources[name].markdown.chunks], pa.large_string()
        )
    )
    keys = [(name, page_id) for name in names for page_id in sources[name].page_ids]
    text_of = dict(zip(keys, graph.text_of.tolist(), strict=True))
    pool = Pool(graph, text_of, recipe.empty_pages)
    ranked = {
        name: {q: [page for page, _ in lists[q]] for q in plan.query_ids(name)}
        for name, lists in candidates.items()
    }
    negatives, skips = fill_pool(
        pool, positives=positives, candidates=ranked, quotas=quotas, fill=recipe.pool_size != "all"
    )
    empty = dict.fromkeys(names, 0)
    for (name, _), text in text_of.items():
        empty[name] += int(graph.empty[text])
    return Selection(quotas, positives, negatives, skips, empty)


def check_pool_size(sources: Mapping[str, Source], plan: Plan, recipe: Recipe) -> None:
    """Raise a `UserError` if the pool does not hold the positives, or the pages do not fill it."""
    _quotas(sources, _positives(sources, plan), recipe)


def _positives(sources: Mapping[str, Source], plan: Plan) -> list[PageKey]:
    """Return the positive pages of the sampled queries, by source and id."""
    return sorted(
        {
            (pick.source, page)
            for pick in plan.picks
            for page in sources[pick.source].qrels[pick.query_id]
        }
    )


def _quotas(
    sources: Mapping[str, Source], positives: Sequence[PageKey], recipe: Recipe
) -> dict[str, int]:
    """Return how many negatives each source may give."""
    sizes = {name: len(source.page_ids) for name, source in sources.items()}
    if recipe.pool_size == "all":
        return sizes
    if sum(sizes.values()) < recipe.pool_size:
        raise UserError(
            f"--pool-size {recipe.pool_size} is more than the {sum(sizes.values()):,} pages that "
            "there are; lower it, or take every page that is no copy with --pool-size all"
        )
    slots = recipe.pool_size - len(positives)
    if slots < 0:
        raise UserError(
            f"--pool-size {recipe.pool_size} is less than the {len(positives)} positive pages of "
            "the sampled queries; raise it, or lower --queries-per-source"
        )
    return apportion(sizes, slots)


def write_pool(
    out: Path,
    sources: Mapping[str, Source],
    plan: Plan,
    selection: Selection,
    *,
    recipe: Recipe,
    name: str,
    miner: Mapping[str, Any],
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write the dataset folder and return its manifest without `files`.

    Raises:
        UserError: `out` cannot be written, or an image does not decode.
    """
    page_ids = {page: row_id(plan.seed, "page", *page) for page in selection.pages}
    query_ids = {
        (pick.source, pick.query_id): row_id(plan.seed, "query", pick.source, pick.query_id)
        for pick in plan.picks
    }
    if len({*page_ids.values()}) + len({*query_ids.values()}) != len(page_ids) + len(query_ids):
        raise UserError("Two rows got the same id; use another --seed")
    judged = set(selection.positives)
    qrels = {
        (query_ids[pick.source, pick.query_id], page_ids[pick.source, page]): grade
        for pick in plan.picks
        for page, grade in sources[pick.source].qrels[pick.query_id].items()
    }
    manifest = describe_build(
        name, sources, plan, selection, recipe=recipe, miner=miner, qrels=qrels
    )
    write_dataset(
        out,
        manifest=manifest,
        tables={
            CORPUS: lambda path: _write_corpus(path, sources, page_ids, judged),
            QUERIES: _queries(sources, plan, query_ids),
            QRELS: _qrels(qrels),
        },
        card=write_card(manifest),
        extra_files=_records(selection),
        overwrite=overwrite,
    )
    return manifest


def row_id(seed: int, kind: str, source: str, source_id: str) -> str:
    """Return an id that tells neither the source nor the relevance of a row.

    trec_eval breaks ties of scores by id: an id that sorted by source would favour sources.
    """
    text = "\x1f".join((str(seed), kind, source, source_id))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _queries(
    sources: Mapping[str, Source], plan: Plan, query_ids: Mapping[tuple[str, str], str]
) -> pa.Table:
    """Return the queries, sorted by id."""
    rows = [
        {
            "_id": query_ids[pick.source, pick.query_id],
            "query": sources[pick.source].queries[pick.query_id].text,
            "language": pick.language,
            "query_format": pick.query_format,
            "source_dataset": pick.source,
            "source_query_id": pick.query_id,
            "source_query_group": pick.group,
        }
        for pick in plan.picks
    ]
    table = pa.Table.from_pylist(sorted(rows, key=lambda row: row["_id"]))
    return with_hub_features(table, images=())


def _qrels(qrels: Mapping[tuple[str, str], int]) -> pa.Table:
    """Return the table of (query, page) -> grade, sorted."""
    pairs = sorted(qrels)
    columns = {
        "query_id": [query_id for query_id, _ in pairs],
        "corpus_id": [page_id for _, page_id in pairs],
        "score": pa.array([qrels[pair] for pair in pairs], pa.int64()),
    }
    return with_hub_features(pa.table(columns), images=())


def _write_corpus(
    path: Path,
    sources: Mapping[str, Source],
    page_ids: Mapping[PageKey, str],
    judged: set[PageKey],
) -> None:
    """Write the corpus sorted by id, with the images' own bytes, a row group in memory at a time.

    The ids are shuffled over the sources, so the images go through a temporary file.
    """
    schema = with_hub_features(CORPUS_SCHEMA.empty_table()).schema
    order = sorted(page_ids, key=lambda page: page_ids[page])
    with tempfile.TemporaryFile(dir=path.parent) as spool:
        places: dict[PageKey, tuple[int, int]] = {}
        for page, content in _images(sources, page_ids):
            check_image(content, f"{page[0]}, page {page[1]}")
            places[page] = (spool.tell(), len(content))
            spool.write(content)
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for start in range(0, len(order), ROW_GROUP_ROWS):
                rows = []
                for page in order[start : start + ROW_GROUP_ROWS]:
                    spool.seek(places[page][0])
                    image = {"bytes": spool.read(places[page][1]), "path": None}
                    rows.append(
                        _corpus_row(sources[page[0]], page, page_ids[page], page in judged)
                        | {"image": image}
                    )
                writer.write_table(pa.Table.from_pylist(rows, schema))


def _images(
    sources: Mapping[str, Source], pages: Mapping[PageKey, str]
) -> Iterator[tuple[PageKey, bytes]]:
    """Yield the image of each page, source by source."""
    for name, source in sorted(sources.items()):
        wanted = {page_id for source_name, page_id in pages if source_name == name}
        for page_id, content in source.images(wanted):
            yield (name, page_id), content


def _corpus_row(source: Source, page: PageKey, new_id: str, is_judged: bool) -> dict[str, Any]:
    """Return a row of the corpus without its image."""
    row = source.row_of[page[1]]
    return {
        "_id": new_id,
        "markdown": source.markdown[row].as_py(),
        "source_dataset": page[0],
        "source_corpus_id": page[1],
        "is_judged": is_judged,
        **source.details[row],
    }


def _records(selection: Selection) -> dict[str, bytes]:
    """Return the files that say why each negative is in and each copy is out."""
    files = {"negatives": selection.negatives, "skipped": selection.skips}
    return {
        f"provenance/{name}.jsonl": "".join(
            json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records
        ).encode()
        for name, records in files.items()
    }
