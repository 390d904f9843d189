"""OCR-MLDR: clean documents and queries -> images -> Tesseract -> documents and queries with noise.

`noise.noise_texts` is the whole of it as one function; `python -m builders.ocr_mldr --help` the
command.
"""
