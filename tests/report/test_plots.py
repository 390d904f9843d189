"""Plots: which are drawn, that they repeat byte for byte, and that names cannot break them."""

import json
import xml.etree.ElementTree as ET

import pytest

from mteb_nano.report.__main__ import main
from mteb_nano.report.plots_ocr import error_rate


@pytest.fixture
def dataset(tmp_path):
    """A dataset folder's manifest with error rates, as the builder writes it."""
    kinds = {"corpus": {"cer": 0.12}, "queries": {"cer": 0.08}}
    settings = ["dpi120_font10", "dpi300_font12"]
    manifest = {
        "name": "OwnOCR", "kind": "ocr-retrieval", "languages": ["de", "en"], "settings": settings,
        "cer": {lang: dict.fromkeys(settings, kinds) for lang in ("de", "en")},
    }  # fmt: skip
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def _plot(tmp_path, name, *options):
    folder = tmp_path / name
    command = ["report", str(tmp_path / "results"), "--csv", "--out", str(tmp_path / "x.csv")]
    assert main([*command, "--quiet", "--plots", str(folder), "--resamples", "200", *options]) == 0
    return {path.name: path for path in folder.iterdir()}


def test_every_plot_in_both_formats_twice_the_same(write_pages, write_ocr, tmp_path, dataset):
    """Sources and seconds for pages; modes, CER and seconds for OCR; equal bytes in two runs."""
    write_pages("org/$x_1$ & <b>")
    write_ocr("org/model")
    first = _plot(tmp_path, "first", "--data", str(dataset))
    second = _plot(tmp_path, "second", "--data", str(dataset))
    kinds = sorted(
        {(name.split("-")[0], path.stem.rsplit("-", 1)[1]) for name, path in first.items()}
    )
    assert kinds == [
        ("NanoViDoReV3", "seconds"), ("NanoViDoReV3", "sources"),
        ("OwnOCR", "cer"), ("OwnOCR", "modes"), ("OwnOCR", "seconds"),
    ]  # fmt: skip
    assert len(first) == 10
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes(), name
        if name.endswith(".svg"):
            ET.fromstring(path.read_text())  # noqa: S314


def test_no_error_rates_no_plot_of_them(write_ocr, tmp_path):
    """Without a manifest nothing is drawn against CER, and without times nothing against them."""
    write_ocr("org/model", seconds=None)
    names = _plot(tmp_path, "plots")
    assert sorted({name.rsplit("-", 1)[1] for name in names}) == ["modes.png", "modes.svg"]


def test_many_models_are_cut_with_a_word(write_ocr, write_pages, tmp_path):
    """Twelve models do not fail; the title says how many are shown."""
    for i in range(12):
        write_ocr(f"org/m{i}", seed=i)
        write_pages(f"org/p{i}", seed=i)
    assert len(_plot(tmp_path, "plots")) == 8


@pytest.mark.parametrize(
    "rates", [{}, {"de": 3}, {"de": {"s": {"corpus": "x"}}}, {"de": {"s": [1]}}]
)
def test_odd_error_rates_are_unknown(rates):
    """A manifest of another shape means no error rate, not a crash."""
    assert error_rate(rates, "de", "s", "corpus") is None


def test_error_rate_is_read():
    """A rate is found where the builder writes it."""
    assert error_rate({"de": {"s": {"corpus": {"cer": 0.1, "n": 3}}}}, "de", "s", "corpus") == 0.1


def test_unwritable_folder_is_one_line(write_ocr, tmp_path, capsys):
    """A plot folder that is a file is refused in one line with exit code 2."""
    write_ocr("org/model")
    (tmp_path / "file").touch()
    code = main(["report", str(tmp_path / "results"), "--csv", "--plots", str(tmp_path / "file")])
    assert code == 2
    assert "cannot be written" in capsys.readouterr().err
