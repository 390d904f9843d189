"""The embedded sample is sound, real, small, and says its licences."""

import pyarrow.parquet as pq
import pytest

from mteb_nano import catalog, locate, manifest
from mteb_nano.checking import faults_of

FOLDERS = {"nano_vidore_v3": "NanoViDoReV3Sample", "ocr_mldr": "OCRMLDRSample"}


@pytest.fixture(params=sorted(FOLDERS))
def sample(request):
    """Return the folder of each sample in turn."""
    folder = locate.SAMPLE / request.param
    if not folder.is_dir():
        pytest.skip(f"needs {folder}, which builders/sample.py makes")
    return folder


def test_the_sample_has_no_fault(sample):
    """Hashes, tables and every pixel, as `mteb-nano check` looks at them."""
    assert faults_of(sample) == []


def test_the_sample_bears_its_name_and_version(sample):
    """Its results are `sample-<version>`, never mistaken for a Hub commit or a local folder."""
    row = catalog.from_manifest(manifest.read_manifest(sample), sample)
    assert row.name == FOLDERS[sample.name]
    assert locate.revision_of(row) == f"sample-{manifest.read_manifest(sample)['version']}"


def test_the_samples_licences_lie_beside_it(sample):
    """Data under the GPL and GFDL lie beside Apache-2.0 code: LICENSE.md names each."""
    text = (sample / "LICENSE.md").read_text()
    assert "GPL" in text
    for licence in manifest.read_manifest(sample).get("licenses", []):
        assert licence.split("-")[0] in text


def test_the_page_sample_is_large_enough():
    """At least 100 pages of 4 sources and 50 queries in 6 languages, graded 1 and 2."""
    folder = locate.SAMPLE / "nano_vidore_v3"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}, which builders/sample.py makes")
    corpus, queries, qrels = (
        pq.read_table(folder / part / "test-00000-of-00001.parquet", columns=columns).to_pydict()
        for part, columns in {
            "corpus": ["_id", "source_dataset", "license"],
            "queries": ["_id", "language"],
            "qrels": ["score"],
        }.items()
    )
    assert len(corpus["_id"]) >= 100
    assert len(set(corpus["source_dataset"])) == 4
    assert all(corpus["license"])
    assert len(queries["_id"]) >= 50
    assert len(set(queries["language"])) == 6
    assert set(qrels["score"]) == {1, 2}


def test_the_sample_is_at_most_20_megabytes():
    """It lies in the wheel."""
    files = [p for p in locate.SAMPLE.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) <= 20e6
