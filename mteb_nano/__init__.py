"""NanoViDoRe v3 and OCR-MLDR for mteb."""
