"""Noise of a scanner on an image: blur, skew, bent lines, salt and pepper."""

import math

import numpy as np
import xxhash
from PIL import Image, ImageFilter

from builders.ocr_mldr.recipes import Scan

PAPER = 255


def generator_for(sentence: str, seed: int) -> np.random.Generator:
    """Return the generator of one sentence's noise, the same in any order and on any worker."""
    return np.random.default_rng([seed, xxhash.xxh64_intdigest(sentence.encode())])


def scan(image: Image.Image, noise: Scan, generator: np.random.Generator) -> Image.Image:
    """Return a grey image as a scanner would see it, of the same size but for skew's corners."""
    if noise.wave_px:
        image = _bend(image, noise.wave_px, generator)
    if noise.skew_degrees:
        angle = generator.uniform(-noise.skew_degrees, noise.skew_degrees)
        image = image.rotate(
            angle, resample=Image.Resampling.BILINEAR, expand=True, fillcolor=PAPER
        )
    if noise.blur_px:
        image = image.filter(ImageFilter.GaussianBlur(noise.blur_px))
    if noise.salt_and_pepper:
        image = _salt_and_pepper(image, noise.salt_and_pepper, generator)
    return image


def _bend(image: Image.Image, amplitude_px: float, generator: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image)
    phase = generator.uniform(0, 2 * math.pi)
    columns = np.arange(image.width)
    shifts = amplitude_px * np.sin(2 * math.pi * columns / max(1, image.width) + phase)
    rows = np.arange(image.height)[:, None] + np.rint(shifts).astype(int)[None, :]
    inside = (rows >= 0) & (rows < image.height)
    bent = pixels[np.clip(rows, 0, image.height - 1), columns[None, :]]
    return Image.fromarray(np.where(inside, bent, PAPER).astype(np.uint8))


def _salt_and_pepper(
    image: Image.Image, share: float, generator: np.random.Generator
) -> Image.Image:
    pixels = np.array(image)
    drawn = generator.random(pixels.shape)
    pixels[drawn < share / 2] = 0
    pixels[drawn > 1 - share / 2] = PAPER
    return Image.fromarray(pixels)
