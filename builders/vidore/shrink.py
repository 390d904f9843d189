"""Copy sources with smaller page images, for samples that travel with a package.

The build keeps the bytes of its sources; this is the one place where images are encoded again.

    python -m builders.vidore.shrink reports/* --out small --quality 60
"""

import argparse
import io
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from builders.export import replacing_folder
from builders.vidore.images import decode_image
from builders.vidore.origins import parse_origins, read_sources
from mteb_nano.errors import UserError


def shrink_image(content: bytes, what: str, *, longest_side: int, quality: int) -> bytes:
    """Return the image as JPEG, no side longer than given; the original where that is smaller.

    `what` names the image in errors; sides are in pixels, the quality is JPEG's, 1 to 95.
    """
    image = decode_image(content, what)
    image.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True)
    return min(buffer.getvalue(), content, key=len)


def shrink_source(folder: Path, out: Path, *, longest_side: int, quality: int) -> int:
    """Write a copy of a source with smaller images and return the bytes of its images."""
    n_bytes = 0
    with replacing_folder(out) as part:
        for path in sorted(folder.glob("*/*.parquet")):
            target = part / path.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            if path.parent.name != "corpus":
                shutil.copyfile(path, target)
                continue
            table = pq.read_table(path)
            images = []
            for page_id, image in zip(table["corpus_id"], table["image"], strict=True):
                small = shrink_image(
                    image["bytes"].as_py(),
                    f"{folder}, page {page_id}",
                    longest_side=longest_side,
                    quality=quality,
                )
                n_bytes += len(small)
                images.append({"bytes": small, "path": None})
            column = table.column_names.index("image")
            field = table.schema.field("image")
            table = table.set_column(column, field, pa.array(images, field.type))
            pq.write_table(table, target, compression="zstd")
    return n_bytes


def main(arguments: list[str] | None = None) -> int:
    """Shrink the sources that the command line names."""
    parser = argparse.ArgumentParser(
        "python -m builders.vidore.shrink",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sources", nargs="+", metavar="[NAME=]PLACE")
    parser.add_argument("--out", type=Path, required=True, help="folder for the smaller sources")
    parser.add_argument("--longest-side", type=int, default=4000, metavar="PIXELS")
    parser.add_argument("--quality", type=int, default=60, help="JPEG quality, 1 to 95")
    options = parser.parse_args(arguments)
    try:
        for name, source in read_sources(parse_origins(options.sources)).items():
            n_bytes = shrink_source(
                source.folder,
                options.out / name,
                longest_side=options.longest_side,
                quality=options.quality,
            )
            print(f"{options.out / name}: {len(source.page_ids)} pages, {n_bytes / 1e6:.1f} MB")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
