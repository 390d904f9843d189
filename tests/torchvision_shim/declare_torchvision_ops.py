"""Let torchvision's wheel import beside a torch that its compiled half was not built for.

The wheel on PyPI is built against torch with CUDA. Beside a torch for CPUs its compiled half does
not load, which it passes over; but then it registers fake kernels for operators that this half
would have defined, and raises: "operator torchvision::nms does not exist". sentence-transformers
and transformers import torchvision wherever it is installed, so they would break with it, in every
process of the virtual environment. Reading page images needs none of these operators: declaring
their names is enough. Installed by `install.py`, for tests only.
"""

import sys

OPERATORS = ("nms", "qnms")
_kept: list = []


class _Finder:
    """Finds nothing: when torchvision is first asked for, declares its operators."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        del path, target
        if name == "torchvision" and not _kept:
            _declare()


def _declare():
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for name in OPERATORS:
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept.append(library)  # the declarations last as long as this object


def install():
    """Wait for torchvision; called by the `.pth` file at every start of Python."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
