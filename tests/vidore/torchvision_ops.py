"""Let torchvision's wheel import beside a CPU build of torch of another version, in tests only.

The wheel registers fake kernels for operators that its compiled half would define; where that half
does not load, the names are missing and the import fails. Page images need none of them.
"""

import torch

_library: list[torch.library.Library] = []


def declare() -> None:
    """Declare the operators that torchvision's import looks for, once."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _library.append(library)  # the operators go when the object does
