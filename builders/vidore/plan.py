"""What the `sample` step decides and the later steps read: `sample.json` in the work folder."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from builders.export import write_bytes
from builders.vidore.groups import Group, group_translations
from builders.vidore.recipe import Recipe
from builders.vidore.sampling import Pick, sample_queries
from builders.vidore.source_tables import natural
from builders.vidore.sources import Source
from mteb_nano.errors import UserError

FILE_NAME = "sample.json"


@dataclass(frozen=True)
class Plan:
    """The sampled queries and the sources that they come from.

    Attributes:
        queries_per_source: As in the recipe, or "replayed".
        sources: Name -> place, origin, revision, fingerprint, pages, groups, query_formats.
        picks: Sorted by source and query id.
    """

    seed: int
    queries_per_source: int | str | Mapping[str, int]
    sources: Mapping[str, Mapping[str, Any]]
    picks: Sequence[Pick]

    def query_ids(self, source: str) -> list[str]:
        """Return the sampled query ids of a source, in the order in which they take turns."""
        ids = [pick.query_id for pick in self.picks if pick.source == source]
        return sorted(ids, key=natural)

    def save(self, work: Path) -> None:
        """Write the plan; atomic."""
        picks = [asdict(pick) for pick in self.picks]
        plan = {
            "seed": self.seed,
            "queries_per_source": self.queries_per_source,
            "sources": self.sources,
            "picks": picks,
        }
        text = json.dumps(plan, indent=1, sort_keys=True, ensure_ascii=False)
        write_bytes(work / FILE_NAME, text.encode() + b"\n")


def load_plan(work: Path) -> Plan:
    """Return the plan in a work folder.

    Raises:
        UserError: There is none, or it is not one.
    """
    path = work / FILE_NAME
    try:
        plan = json.loads(path.read_bytes())
        picks = [Pick(**pick) for pick in plan["picks"]]
        return Plan(plan["seed"], plan["queries_per_source"], plan["sources"], picks)
    except FileNotFoundError:
        raise UserError(
            f"{path}: not found; run the step `sample` first, with --work {work}"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: is no plan of this builder ({error!r}); run `sample` again"
        ) from None


def make_plan(sources: Mapping[str, Source], places: Mapping[str, str], recipe: Recipe) -> Plan:
    """Sample the queries of every source and return the plan.

    Raises:
        UserError: Translations cannot be told apart in some sources, or a source is too small.
    """
    universe = group_all(sources)
    sizes = _sizes(recipe, universe)
    picks = sample_queries(universe, sizes, seed=recipe.seed)
    described = _describe(sources, places, universe)
    return Plan(recipe.seed, recipe.queries_per_source, described, picks)


def replay_plan(
    sources: Mapping[str, Source],
    places: Mapping[str, str],
    query_ids: Mapping[str, Sequence[str]],
    seed: int,
) -> Plan:
    """Return the plan that has exactly the given queries.

    Raises:
        UserError: A source or query does not exist, or two queries are one in two languages.
    """
    universe = group_all(sources)
    picks, faults = [], []
    faults += [f"unknown source {name}" for name in sorted(set(query_ids) - set(sources))]
    for name in sorted(set(query_ids) & set(sources)):
        members = {
            query_id: (group, language)
            for group in universe[name]
            for language, query_id in group.query_ids.items()
        }
        for query_id in sorted(set(query_ids[name]), key=natural):
            if query_id not in members:
                faults.append(f"{name}: unknown query {query_id}")
                continue
            group, language = members[query_id]
            picks.append(Pick(name, query_id, group.key, language, group.query_format))
    if faults:
        raise UserError("The queries to replay are not in the sources:\n  " + "\n  ".join(faults))
    return Plan(seed, "replayed", _describe(sources, places, universe), sorted(picks))


def group_all(sources: Mapping[str, Source]) -> dict[str, list[Group]]:
    """Return the groups of translations of every source; all faults are reported together."""
    universe, faults = {}, []
    for name, source in sorted(sources.items()):
        try:
            universe[name] = group_translations(source)
        except UserError as error:
            faults.append(str(error))
    if faults:
        raise UserError("\n".join(faults))
    return universe


def check_sources(plan: Plan, sources: Mapping[str, Source]) -> None:
    """Raise UserError if the sources are not the ones that the plan was made from."""
    changed = sorted(
        name
        for name in {*plan.sources, *sources}
        if name not in sources
        or name not in plan.sources
        or plan.sources[name]["fingerprint"] != sources[name].fingerprint
    )
    if changed:
        raise UserError(
            f"The sources {', '.join(changed)} are not what the queries were sampled from; give "
            "the same --sources, or run `sample` again"
        )


def _sizes(recipe: Recipe, universe: Mapping[str, Sequence[Group]]) -> dict[str, int]:
    """Return how many queries to take from each source."""
    wanted = recipe.queries_per_source
    if wanted == "all":
        return {name: len(groups) for name, groups in universe.items()}
    if isinstance(wanted, int):
        return dict.fromkeys(universe, wanted)
    if set(wanted) != set(universe):
        raise UserError(
            f"--queries-per-source names {', '.join(sorted(wanted))}; the sources are "
            f"{', '.join(sorted(universe))}"
        )
    return dict(wanted)


def _describe(
    sources: Mapping[str, Source],
    places: Mapping[str, str],
    universe: Mapping[str, Sequence[Group]],
) -> dict[str, dict[str, Any]]:
    """Return what the plan says of each source."""
    return {
        name: {
            "place": places[name],
            "origin": source.origin,
            "revision": source.revision,
            "fingerprint": source.fingerprint,
            "pages": len(source.page_ids),
            "groups": len(universe[name]),
            "languages": sorted(universe[name][0].query_ids),
            "query_formats": dict(sorted(Counter(g.query_format for g in universe[name]).items())),
        }
        for name, source in sorted(sources.items())
    }
