"""On the path of subprocesses and Ray workers of tests: makes torchvision importable first."""

import importlib.abc
import sys


class _DeclareFirst(importlib.abc.MetaPathFinder):
    """Declare torchvision's operators when somebody asks for it."""

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            from tests.vidore.torchvision_ops import declare

            declare()


sys.meta_path.insert(0, _DeclareFirst())
