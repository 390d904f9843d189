"""Languages as mteb writes them (ISO 639-3 and ISO 15924: `eng-Latn`), from however data do."""

import re
from functools import lru_cache

from mteb_nano.errors import UserError

_SCRIPT = re.compile(r"[A-Za-z]{4}")


def to_iso_639_3(language: str) -> str:
    """Return `fra` for `french`, `French`, `fr`, `fra`, `fr-FR` and `fra-Latn`.

    Raises:
        UserError: No such language is known.
    """
    word = language.strip().lower()
    by_two, by_name, scripts = _tables()
    for key in (word, re.split(r"[-_]", word)[0]):
        if key in scripts or key in by_name.values():
            return key
        if code := by_two.get(key) or by_name.get(key):
            return code
    raise UserError(
        f"unknown language {language!r}; expected an English name (french) or a code (fr, fra)"
    )


def to_mteb(language: str) -> str:
    """Return mteb's tag, `fra-Latn`, of a language; a script that it names is kept.

    Raises:
        UserError: No such language is known, or mteb knows no script for it.
    """
    code = to_iso_639_3(language)
    named = [part for part in re.split(r"[-_]", language)[1:] if _SCRIPT.fullmatch(part)]
    script = named[0].title() if named else _tables()[2].get(code)
    if script is None:
        raise UserError(f"language {language!r}: write its script too, for example {code}-Latn")
    return f"{code}-{script}"


@lru_cache
def _tables() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return two-letter code -> code, English name -> code, code -> script; mteb's own tables."""
    import json
    from pathlib import Path

    import mteb.languages

    folder = Path(mteb.languages.__file__).parent

    def table(name: str) -> dict[str, str]:
        return json.loads((folder / name).read_bytes())

    by_name = {name.lower(): code for code, name in table("iso_639_3_to_language.json").items()}
    return table("iso_639_1_to_3.json"), by_name, table("iso_639_3_to_default_script.json")
