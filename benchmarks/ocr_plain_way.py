"""The plain way of making OCR noise, and the library that it uses, for comparisons."""

import ctypes
import ctypes.util
import textwrap

from PIL import Image, ImageDraw, ImageFont

from builders.ocr_mldr.models import Model
from builders.ocr_mldr.recipes import Recipe, Setting
from mteb_nano.errors import UserError


class SystemTesseract:
    """The libtesseract that the `tesseract` command uses, kept open, by its C interface."""

    def __init__(self, models: dict[str, Model], recipe: Recipe) -> None:
        name = ctypes.util.find_library("tesseract")
        if name is None:
            raise UserError("libtesseract was not found: apt install tesseract-ocr")
        self._lib = ctypes.CDLL(name)
        self._lib.TessBaseAPICreate.restype = ctypes.c_void_p
        self._lib.TessBaseAPIGetUTF8Text.restype = ctypes.c_void_p
        self._lib.TessVersion.restype = ctypes.c_char_p
        self._models, self._recipe = models, recipe
        self._handle = ctypes.c_void_p(self._lib.TessBaseAPICreate())
        self._lang = ""

    def read(self, image: Image.Image, lang: str) -> str:
        """Return the text on a grey image."""
        if lang != self._lang:
            self._open(lang)
        size = (image.width, image.height, 1, image.width)
        self._lib.TessBaseAPISetImage(self._handle, image.tobytes(), *size)
        pointer = self._lib.TessBaseAPIGetUTF8Text(self._handle)
        text = ctypes.string_at(pointer).decode()
        self._lib.TessDeleteText(ctypes.c_void_p(pointer))
        self._lib.TessBaseAPIClearAdaptiveClassifier(self._handle)
        return text.replace("\n", " ").strip()

    def version(self) -> str:
        """Return the library's version."""
        return self._lib.TessVersion().decode()

    def _open(self, lang: str) -> None:
        model = self._models[lang]
        folder = str(model.path.parent).encode()
        mode = self._recipe.oem
        if self._lib.TessBaseAPIInit2(self._handle, folder, model.lang.encode(), mode) != 0:
            raise UserError(f"{model.path}: Tesseract cannot read it")
        self._lib.TessBaseAPISetPageSegMode(self._handle, self._recipe.psm)
        # What the command prints of each image ("Estimating resolution") helps nobody here.
        self._lib.TessBaseAPISetVariable(self._handle, b"debug_file", b"/dev/null")
        self._lang = lang


def plain_image(sentence: str, recipe: Recipe, setting: Setting) -> Image.Image:
    """Return the image as the original draws it: RGB, and each line laid out three times."""
    font_px = int(setting.font_pt * setting.dpi / 72)
    margin = int(recipe.margin_in * setting.dpi)
    columns = (int(recipe.page_width_in * setting.dpi) - 2 * margin) // font_px
    font = ImageFont.truetype(recipe.font_path, font_px, layout_engine=ImageFont.Layout.BASIC)
    lines = textwrap.wrap(sentence, columns, break_long_words=False) or [""]
    boxes = [font.getbbox(line) for line in lines]
    heights = [int(box[3] - box[1]) + setting.line_gap_px for box in boxes]
    size = (int(max(box[2] for box in boxes)) + 2 * margin, sum(heights) + 2 * margin)
    image = Image.new("RGB", size, "white")
    pen, y = ImageDraw.Draw(image), margin
    for line, height in zip(lines, heights, strict=True):
        pen.text((margin, y), line, font=font, fill="black")
        y += height
    if setting.ink_threshold is None:
        return image
    return image.point([0 if v < setting.ink_threshold else 255 for v in range(256)] * 3)


def plain_way(sentence: str, recipe: Recipe, setting: Setting, model: Model) -> str:
    """Return the text as the original reads it: a `tesseract` process per sentence."""
    import pytesseract

    config = f"--tessdata-dir {model.path.parent} --oem {recipe.oem} --psm {recipe.psm}"
    image = plain_image(sentence, recipe, setting)
    return str(pytesseract.image_to_string(image, model.lang, config)).replace("\n", " ").strip()
