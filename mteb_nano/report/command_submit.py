"""`mteb-nano submit`."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from mteb_nano.errors import UserError

_EXAMPLES = """examples:
  mteb-nano submit results --dry-run                    only the checks
  mteb-nano submit results --repo ~/mteb-results        a branch in your clone, not pushed
  mteb-nano submit results                              a branch through mteb's submit-results
  mteb-nano submit results --create-pr                  ... pushed to your fork, with a pull request
  mteb-nano submit results --dry-run --snippets hub     files for the model's page on the Hub
"""


def add_submit(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register `submit`."""
    parser = subparsers.add_parser(
        "submit",
        help="check results for the MTEB leaderboard and prepare their submission",
        description="Checks what the results repository's own tests demand, and that results are\n"
        "whole and of the real data; says every fault at once. Nothing is pushed without\n"
        "--create-pr.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument(
        "--repo", type=Path, metavar="CLONE", help="clone of the results repository"
    )
    parser.add_argument(
        "--branch", metavar="NAME", help="of the new branch (default: with the time)"
    )
    parser.add_argument("--dry-run", action="store_true", help="check only")
    parser.add_argument(
        "--create-pr", action="store_true", help="push through mteb and open a pull request"
    )
    parser.add_argument(
        "--snippets",
        type=Path,
        metavar="FOLDER",
        help=".eval_results and model-index of each model",
    )
    parser.add_argument("--quiet", action="store_true", help="do not list what is left out")
    parser.set_defaults(run=run_submit)


def run_submit(args: argparse.Namespace) -> int:
    """Check, then prepare; exit code 2 with every fault when one is found."""
    from mteb_nano.report.console import tell_problems
    from mteb_nano.report.submission import check_candidate, find_candidates
    from mteb_nano.report.submit import check_clone, prepare_branch, submit_through_mteb

    if args.repo and args.create_pr:
        raise UserError(
            "--create-pr goes through mteb's own clone; with --repo push the branch yourself"
        )
    if args.repo:
        check_clone(args.repo)
    candidates, lines = find_candidates(args.results)
    tell_problems(lines, quiet=args.quiet)
    known = mteb_models()
    faults = [
        fault
        for candidate in candidates
        for fault in check_candidate(candidate, known_models=known, clone=args.repo)
    ]
    if faults:
        raise UserError("\n".join([*faults, f"{len(faults)} faults: nothing was prepared"]))
    print(f"{len(candidates)} result files pass all checks")
    if args.snippets:
        _write_snippets(args)
    if args.dry_run:
        return 0
    if args.repo:
        branch = args.branch or f"mteb-nano-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        commit = prepare_branch(candidates, args.repo, branch=branch)
        print(f"{args.repo}: commit {commit[:10]} on the new branch {branch}; nothing was pushed")
        print(f"next: git -C {args.repo} push <your fork> {branch}, and open a pull request")
        return 0
    print("\n".join(submit_through_mteb(candidates, create_pr=args.create_pr)))
    return 0


def _write_snippets(args: argparse.Namespace) -> None:
    from mteb_nano.report.reading import read_results
    from mteb_nano.report.snippets import write_snippets

    for path in write_snippets(read_results(args.results).results, args.snippets):
        print(path, file=sys.stderr)


def mteb_models() -> dict[str, str | None]:
    """Return name -> revision of the models that mteb itself knows, without this package's."""
    from mteb.models.model_implementations import MODEL_REGISTRY

    return {
        name: meta.revision
        for name, meta in MODEL_REGISTRY.items()
        if not name.startswith("mteb-nano/")
    }
