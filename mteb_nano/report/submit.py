"""Checked result files -> a branch in a clone of the results repository, or mteb's own way."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mteb_nano.errors import UserError
from mteb_nano.report.submission import Candidate


def prepare_branch(candidates: Sequence[Candidate], clone: Path, *, branch: str) -> str:
    """Commit the files to a new branch of a clone and return the commit; nothing is pushed.

    The clone's own checkout, index and current branch stay as they are: the commit is made in a
    temporary work tree. On failure the branch is removed again.

    Raises:
        UserError: No git, no clone, a branch of that name, or nothing to change.
    """
    check_clone(clone)
    if _git(clone, "branch", "--list", branch):
        raise UserError(
            f"{clone}: there is a branch {branch} already; choose another with --branch"
        )
    with tempfile.TemporaryDirectory(prefix="mteb-nano-submit-") as folder:
        tree = Path(folder) / "tree"
        # Without a checkout: the repository has tens of thousands of files.
        _git(clone, "worktree", "add", "--no-checkout", "-b", branch, str(tree), _base(clone))
        done = False
        try:
            commit = _commit(candidates, tree)
            done = True
        finally:
            _git(clone, "worktree", "remove", "--force", str(tree))
            if not done:
                _git(clone, "branch", "-D", branch)
    return commit


def check_clone(clone: Path) -> None:
    """Raise a `UserError` if a folder is not the top of a clone that has a folder `results`.

    Elsewhere the files would land in somebody's other repository, and the comparison with the
    results that are there already would find none.
    """
    top = Path(_git(clone, "rev-parse", "--show-toplevel"))
    if top.resolve() != clone.resolve():
        raise UserError(f"{clone}: is inside the clone {top}; name the clone itself")
    if not _git(clone, "ls-tree", _base(clone), "results/"):
        raise UserError(
            f"{clone}: has no folder `results`; expected a clone of"
            " https://github.com/embeddings-benchmark/results"
        )


def _base(clone: Path) -> str:
    """Return the remote's default branch, or what is checked out where there is no remote."""
    try:
        return _git(clone, "rev-parse", "--verify", "--quiet", "refs/remotes/origin/HEAD")
    except UserError:
        return "HEAD"


def _commit(candidates: Sequence[Candidate], tree: Path) -> str:
    _git(tree, "read-tree", "HEAD")
    for candidate in candidates:
        place = Path("results", candidate.place)
        (tree / place.parent).mkdir(parents=True, exist_ok=True)
        for source in (candidate.path, *candidate.side_files):
            shutil.copyfile(source, tree / place.parent / source.name)
            _git(tree, "add", "--sparse", "--force", "--", str(place.parent / source.name))
    if not _git(tree, "diff", "--cached", "--name-only"):
        raise UserError("the repository has exactly these files already: nothing to submit")
    _git(tree, "commit", "--quiet", "-m", commit_message(candidates))
    return _git(tree, "rev-parse", "HEAD")


def commit_message(candidates: Sequence[Candidate]) -> str:
    """Return a title that names the models and a body that names the tasks."""
    models = sorted({str((c.meta or {}).get("name")) for c in candidates})
    tasks = sorted({c.task for c in candidates})
    title = f"Add {', '.join(tasks)} results for {', '.join(models[:3])}"
    if len(models) > 3:  # noqa: PLR2004
        title += f" and {len(models) - 3} more models"
    revisions = sorted(
        {f"{c.task}: data revision {c.data['dataset_revision']}" for c in candidates}
    )
    return "\n".join([title, "", *revisions])


def submit_through_mteb(candidates: Sequence[Candidate], *, create_pr: bool) -> list[str]:
    """Hand the files to mteb's own submission and return lines that say what it did.

    It clones the results repository beside the results, commits to a new branch there, and only
    with `create_pr` pushes and opens a pull request.

    Raises:
        UserError: mteb, git or GitHub refuse; or the files are not in one mteb results folder.
    """
    from mteb.cache import ResultCache

    roots = {candidate.path.parents[2] for candidate in candidates}
    if len(roots) > 1 or next(iter(roots)).name != "results":
        raise UserError(
            "expected files of one folder <output-folder>/results/<org__model>/<revision>/, got "
            + ", ".join(sorted(map(str, roots)))
        )
    cache = ResultCache(next(iter(roots)).parent)
    models = sorted({candidate.path.parents[1].name for candidate in candidates})
    tasks = sorted({candidate.task for candidate in candidates})
    try:
        answer = cache.submit_results(models, tasks=tasks, create_pr=create_pr)
    except (RuntimeError, ValueError, ImportError, OSError, subprocess.SubprocessError) as error:
        raise UserError(f"mteb's submission failed: {error}") from None
    lines = [f"{key}: {value}" for key, value in answer.items() if value is not None]
    return ["mteb's submission:", *(f"  {line}" for line in lines)]


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise UserError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        what = error.stderr.strip() or f"exit code {error.returncode}"
        raise UserError(f"{folder}: git {arguments[0]} failed: {what}") from None
    return done.stdout.strip()
