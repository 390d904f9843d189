"""`mteb-nano/tesseract-bm25s`: read the page images with Tesseract, search what was read with BM25.

The floor for an image-mode model: it needs no weights beyond Tesseract's. What was read is cached
by image, model file and engine, so a second run reads nothing.
"""

import hashlib
import io
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import datasets
from mteb.models.model_meta import ModelMeta
from PIL import Image
from tqdm.auto import tqdm

from mteb_nano.errors import UserError
from mteb_nano.locate import cache_folder

NAME = "mteb-nano/tesseract-bm25s"
REVISION = "1"  # of the recipe below: what is read, and how
LANGUAGE = "eng"  # one for all pages: `eng+fra` reads no more on French pages and takes 1.5x
_TESSDATA = (
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
)


class TesseractBM25:
    """Search page images by the words that Tesseract reads on them."""

    def __init__(
        self,
        model_name: str = NAME,
        revision: str | None = REVISION,
        *,
        cache: Path | None = None,
        workers: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Check that Tesseract is there, before any page is read.

        Args:
            model_name: As mteb passes it.
            revision: As mteb passes it.
            cache: Folder of what was read; `MTEB_NANO_CACHE` or `~/.cache/mteb-nano` when None.
            workers: Processes that read; as many as there are CPUs when None.
            **kwargs: As mteb passes them; unused.

        Raises:
            UserError: A package or Tesseract's English model is missing.
        """
        del model_name, revision, kwargs
        import mteb

        self.mteb_model_meta = META
        self._engine = engine_stamp()
        self._cache = (cache or cache_folder()) / "tesseract"
        self._workers = workers or len(os.sched_getaffinity(0))
        self._bm25: Any = mteb.get_model("mteb/baseline-bm25s")

    def index(self, corpus: datasets.Dataset, **kwargs: Any) -> None:
        """Read the pages' images and index the words."""
        if "image" not in corpus.column_names:
            raise UserError(f"{NAME} reads page images; for text use -m mteb/baseline-bm25s")
        texts = self.read(corpus)
        read = datasets.Dataset.from_dict({"id": list(corpus["id"]), "text": texts})
        self._bm25.index(read, **kwargs)

    def search(self, queries: datasets.Dataset, **kwargs: Any) -> Any:
        """Return query id -> page id -> BM25 score."""
        return self._bm25.search(queries, **kwargs)

    def read(self, corpus: datasets.Dataset) -> list[str]:
        """Return what Tesseract reads on each page; what was read before comes from the cache."""
        raw = corpus.cast_column("image", datasets.Image(decode=False))
        paths = [self._path(row["image"]["bytes"]) for row in raw]
        texts = {path: text for path in paths if (text := _cached(path)) is not None}
        unread = {path: i for i, path in enumerate(paths) if path not in texts}
        if unread:
            texts |= self._read_all([(p, raw[i]["image"]["bytes"]) for p, i in unread.items()])
        return [texts[path] for path in paths]

    def _read_all(self, todo: list[tuple[Path, bytes]]) -> dict[Path, str]:
        read = {}
        _require_writable(self._cache)
        with ProcessPoolExecutor(self._workers) as pool:
            texts = pool.map(read_page, (image for _, image in todo), chunksize=4)
            for (path, _), text in tqdm(
                zip(todo, texts, strict=True), total=len(todo), desc="Tesseract", unit="page"
            ):
                part = path.with_suffix(f".{os.getpid()}.partial")
                part.write_text(json.dumps({"text": text}), encoding="utf-8")
                part.replace(path)
                read[path] = text
        return read

    def _path(self, image: bytes) -> Path:
        digest = hashlib.blake2b(self._engine.encode() + image, digest_size=16)
        return self._cache / f"{digest.hexdigest()}.json"


def _cached(path: Path) -> str | None:
    """Return what was read before; None when nothing was, or the file is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    text = found.get("text") if isinstance(found, dict) else None
    return text if isinstance(text, str) else None


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written to ({error.strerror}); put the cache of what Tesseract "
            "reads elsewhere by MTEB_NANO_CACHE"
        ) from None


@lru_cache
def engine_stamp() -> str:
    """Return what decides how a page is read: engine, model file, recipe.

    Raises:
        UserError: A package or Tesseract's English model is missing.
    """
    try:
        import bm25s  # noqa: F401
        import tesserocr
    except ImportError as error:
        raise UserError(
            f"{NAME} needs a package ({error.name}): pip install 'mteb-nano[tesseract]'"
        ) from None
    model = tessdata() / f"{LANGUAGE}.traineddata"
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    return f"{tesserocr.tesseract_version().splitlines()[0]} {digest} {REVISION}"


def tessdata() -> Path:
    """Return the folder with Tesseract's model of English.

    Raises:
        UserError: There is none.
    """
    places = (os.environ.get("TESSDATA_PREFIX"), *_TESSDATA)
    for place in places:
        if place and (Path(place) / f"{LANGUAGE}.traineddata").is_file():
            return Path(place)
    raise UserError(
        f"{NAME} needs Tesseract's model {LANGUAGE}.traineddata, which is in none of "
        f"{', '.join(_TESSDATA)} nor in $TESSDATA_PREFIX: apt install tesseract-ocr-eng"
    )


@lru_cache
def _api() -> Any:
    # One thread a process: the workers are the parallelism, and OpenMP would fight them.
    os.environ["OMP_THREAD_LIMIT"] = "1"
    import tesserocr

    return tesserocr.PyTessBaseAPI(path=f"{tessdata()}/", lang=LANGUAGE)


def read_page(image: bytes) -> str:
    """Return the text that Tesseract reads on an encoded page image."""
    with Image.open(io.BytesIO(image)) as page:
        _api().SetImage(page.convert("L"))
    return _api().GetUTF8Text()


class _OwnRequirements(ModelMeta):
    """Metadata of a model that checks what it needs when it is loaded.

    mteb asks torchvision of every model that reads images (its extra `image`); this one reads them
    with Pillow and Tesseract, and torchvision would bring another torch with it.
    """

    def _check_requirements(self) -> None:
        engine_stamp()


META = _OwnRequirements(
    loader=TesseractBM25,  # type: ignore[arg-type]
    name=NAME,
    revision=REVISION,
    release_date="2026-11-30",
    model_type=["sparse"],
    modalities=["text", "image"],
    languages=None,
    n_parameters=None,
    memory_usage_mb=None,
    max_tokens=None,
    embed_dim=None,
    license="apache-2.0",
    open_weights=True,
    public_training_code=None,
    public_training_data=None,
    framework=[],
    similarity_fn_name=None,
    use_instructions=False,
    reference="https://github.com/tesseract-ocr/tesseract",
    training_datasets=None,
)
