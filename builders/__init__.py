"""How the datasets come to be: `python -m builders.vidore`, `python -m builders.ocr_mldr`."""
