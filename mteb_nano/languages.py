"""Languages as mteb writes them (ISO 639-3 and ISO 15924: `eng-Latn`), from however data do."""

from functools import lru_cache

from mteb_nano.errors import UserError


def to_iso_639_3(language: str) -> str:
    """Return `fra` for `french`, `French`, `fr`, `fra` and `fra-Latn`.

    Raises:
        UserError: No such language is known.
    """
    word = language.strip().lower().split("-")[0]
    by_two, by_name, scripts = _tables()
    code = word if word in scripts or word in by_name.values() else by_two.get(word)
    code = code or by_name.get(word)
    if code is None:
        raise UserError(
            f"unknown language {language!r}; expected an English name (french) or a code (fr, fra)"
        )
    return code


def to_mteb(language: str) -> str:
    """Return mteb's tag, `fra-Latn`, of a language.

    Raises:
        UserError: No such language is known, or mteb knows no script for it.
    """
    if "-" in language:
        return language
    code = to_iso_639_3(language)
    script = _tables()[2].get(code)
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
