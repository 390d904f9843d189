"""Make plain mteb see our tasks: a hook that waits for a few of mteb's modules to be imported.

mteb has no plugin mechanism, but it finds its tasks, benchmarks and models by scanning modules. So
this puts ours into those modules right after they were executed. It runs at every start of Python
(from the `.pth` file; from the `.start` file where PEP 829 replaces it), so it imports nothing but
`os` and `sys`, and it never raises. `MTEB_NANO_DISABLE=1` switches it off.
"""

import os
import sys

# Module of mteb -> function of `mteb_nano.registry` that is called with it.
TARGETS = {
    "mteb.tasks": "add_tasks",
    "mteb.benchmarks.benchmarks": "add_benchmarks",
    "mteb.models.model_implementations": "add_models",
    "mteb.results.task_result": "guard_results",
    "mteb.cli.build_cli": "explain_errors",
}
STATUS: dict[str, str] = {}  # target -> "ok" or what went wrong; `mteb-nano data` shows it
_busy: set[str] = set()


class _Finder:
    """Lets the other finders find a target, then has our function run after its body."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # noqa: ANN001, ANN205  imports nothing for types
        # One of ours before mteb: mteb may come in its midst, when our classes are half made.
        early = name.startswith("mteb_nano.") and "mteb" not in sys.modules
        if not (name in TARGETS or early) or name in _busy:  # busy: another finder asks us back
            return None
        _busy.add(name)
        try:
            spec = _find(name, path, target)
        finally:
            _busy.discard(name)
        if spec is not None:
            _run_after(spec, name)
        return spec


def _find(name, path, target):  # noqa: ANN001, ANN202
    for finder in sys.meta_path:
        if finder is not _Finder and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


def _run_after(spec, name) -> None:  # noqa: ANN001
    try:
        body = spec.loader.exec_module

        def exec_module(module) -> None:  # noqa: ANN001
            body(module)  # its own errors pass untouched
            if name in TARGETS or "mteb" in sys.modules:
                _register(name, module)

        spec.loader.exec_module = exec_module  # on the instance: the loader's type stays
    except Exception as error:  # noqa: BLE001  an unusual loader: leave mteb alone
        STATUS[name] = repr(error)


def _register(name, module) -> None:  # noqa: ANN001
    try:
        from mteb_nano import registry

        registry.after_import(module, TARGETS.get(name))
        STATUS[name] = "ok"
    except Exception as error:  # noqa: BLE001  a broken install must not stop mteb
        first = all(state == "ok" for state in STATUS.values())
        STATUS[name] = repr(error)
        if first:  # the other targets would most likely tell the same again
            _warn(f"mteb-nano: mteb goes on without it ({name}: {error!r})")


def _warn(message) -> None:  # noqa: ANN001
    import warnings

    try:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:  # under `-W error`
        print(message, file=sys.stderr)


def install() -> None:
    """Put the hook in place once; called by the `.pth` and the `.start` file."""
    if os.environ.get("MTEB_NANO_DISABLE", "0") in {"", "0"} and _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
