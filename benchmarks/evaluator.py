"""What a score in training costs besides the model: time and memory, first call and later ones.

    python benchmarks/evaluator.py [--repeats 3] [--data sample]

Each case runs in a process of its own, so that the peak of its memory is its own. Times are CPU
seconds of one thread. `forward` is the time in the model's `forward`, `preparing` the time in the
tokenizer and the image processor, and `overhead` all that a call takes besides `forward`. The
evaluator keeps tokens, and images at the size that the processor makes them; what is left of
`preparing` from the second call on is to turn pixels into numbers. The ways compared:

- evaluator: ours, made once and called again and again;
- mteb.evaluate: mteb's own evaluation of the same task, anew each time;
- stock: sentence-transformers' InformationRetrievalEvaluator with the same texts and relevance
  (binary, and for texts only), its data read and itself made once.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASES = {
    "markdown": ("evaluator", "mteb.evaluate", "stock"),
    "image": ("evaluator", "mteb.evaluate"),
}
BATCH = 32


def text_model(folder: Path) -> Any:
    """Return a random model of MiniLM's size (6 layers, 384 wide), with a tokenizer of words."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    words = tokenizer(128)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
    )
    BertModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return SentenceTransformer(str(folder), device="cpu")


def image_model(folder: Path) -> Any:
    """Return a random CLIP with a vision tower of ViT-S/16's size (12 layers, 384 wide)."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

    torch.manual_seed(0)
    words = tokenizer(64)
    small = {"hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 6}
    text = {
        "vocab_size": len(words),
        "max_position_embeddings": 64,
        "num_hidden_layers": 2,
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
    }
    vision = {"image_size": 224, "patch_size": 16, "num_hidden_layers": 12}
    config = CLIPConfig(text_config=text | small, vision_config=vision | small, projection_dim=128)
    CLIPModel(config).save_pretrained(folder)
    CLIPProcessor(image_processor=CLIPImageProcessor(), tokenizer=words).save_pretrained(folder)
    return SentenceTransformer(str(folder), device="cpu")


def tokenizer(max_length: int) -> Any:
    """Return a tokenizer of letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "bos", "eos")}
    special = list(names.values())
    letters = [chr(c) for c in range(33, 127)]
    vocabulary = [*special, *letters, *(f"##{letter}" for letter in letters)]
    numbers = {token: number for number, token in enumerate(vocabulary)}
    made = Tokenizer(models.WordPiece(numbers, unk_token=special[1]))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 2), ("[EOS]", 3)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=max_length, **names)


class Clock:
    """Adds up CPU seconds spent in functions."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Count what `owner.method` takes under a name."""
        original = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return original(*args, **kwargs)
            finally:
                spent = time.process_time() - start
                self.seconds[name] = self.seconds.get(name, 0.0) + spent

        setattr(owner, method, timed)


def way(name: str, mode: str, data: str) -> Callable[[], Callable[[Any], float]]:
    """Return what makes an evaluation, which takes a model and returns its score."""
    return {"evaluator": _ours, "mteb.evaluate": _mteb, "stock": _stock}[name](mode, data)


def _ours(mode: Any, data: str) -> Callable[[], Callable[[Any], float]]:
    from mteb_nano.evaluators import NanoViDoReV3Evaluator

    def make() -> Callable[[Any], float]:
        evaluator = NanoViDoReV3Evaluator(mode, data=data, batch_size=BATCH)
        return lambda model: evaluator(model)[evaluator.primary_metric]

    return make


def _task(mode: str, data: str) -> Any:
    from mteb_nano.catalog import NANO_VIDORE_V3
    from mteb_nano.evaluators.material import find_dataset
    from mteb_nano.folder_tasks import tasks_of

    folder = find_dataset(NANO_VIDORE_V3, data).folder
    if folder is None:
        raise SystemExit("--data: expected `sample` or a dataset folder")
    return next(task for task in tasks_of(folder) if getattr(task, "mode", None) == mode)()


def _mteb(mode: str, data: str) -> Callable[[], Callable[[Any], float]]:
    import mteb
    from mteb.models import SentenceTransformerEncoderWrapper

    def evaluate(model: Any) -> float:
        wrapped = SentenceTransformerEncoderWrapper(model)
        meta = wrapped.mteb_model_meta.model_copy(update={"modalities": ["text", "image"]})
        wrapped.mteb_model_meta = meta
        options: Any = {"batch_size": BATCH}
        result = mteb.evaluate(
            wrapped,
            _task(mode, data),
            cache=None,
            encode_kwargs=options,
            show_progress_bar=False,
            co2_tracker=False,
        )
        return result.task_results[0].get_score()

    return lambda: evaluate


def _stock(mode: str, data: str) -> Callable[[], Callable[[Any], float]]:
    from sentence_transformers.sentence_transformer.evaluation import (
        InformationRetrievalEvaluator,
    )

    def make() -> Callable[[Any], float]:
        task = _task(mode, data)
        task.load_data()
        parts = [splits["test"] for splits in task.dataset.values()]
        corpus = dict(zip(parts[0]["corpus"]["id"], parts[0]["corpus"]["text"], strict=True))
        evaluators = [
            InformationRetrievalEvaluator(
                dict(zip(part["queries"]["id"], part["queries"]["text"], strict=True)),
                corpus,
                {query: set(grades) for query, grades in part["relevant_docs"].items()},
                batch_size=BATCH,
                write_csv=False,
            )
            for part in parts
        ]

        def evaluate(model: Any) -> float:
            scores = [e(model)[e.primary_metric] for e in evaluators if e.primary_metric]
            scores = scores or [next(iter(e(model).values())) for e in evaluators]
            return sum(scores) / len(scores)

        return evaluate

    return make


def measure(case: str, mode: str, data: str, repeats: int) -> dict[str, Any]:
    """Return CPU seconds of making an evaluation and of each call, and the peak of memory."""
    import mteb  # noqa: F401
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        model = (text_model if mode == "markdown" else image_model)(Path(folder))
    clock = Clock()
    clock.watch(model, "forward", "forward")
    clock.watch(type(model), "preprocess", "preparing")
    before = _peak_mb()
    start = time.process_time()
    evaluate = way(case, mode, data)()
    made = time.process_time() - start
    calls = []
    for _ in range(repeats):
        clock.seconds = {}
        start = time.process_time()
        score = evaluate(model)
        calls.append({"total": time.process_time() - start, **clock.seconds, "score": score})
    return {"made": made, "calls": calls, "memory_mb": _peak_mb() - before}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def show(mode: str, results: dict[str, dict[str, Any]]) -> None:
    """Print one table."""
    print(f"\n{mode}: CPU seconds\n")
    print("| way | made | 1st call | 2nd call | forward | preparing | overhead | memory, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case, result in results.items():
        first, later = result["calls"][0], min(result["calls"][1:], key=lambda c: c["total"])
        total, forward = later["total"], later["forward"]
        overhead = total - forward
        print(
            f"| {case} | {result['made']:.2f} | {first['total']:.2f} | {total:.2f} "
            f"| {forward:.2f} | {later.get('preparing', 0):.2f} "
            f"| {overhead:.2f} ({overhead / forward:.1%} of forward) "
            f"| {result['memory_mb']:.0f} |"
        )


def main() -> None:
    """Run every case and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="sample", help="`sample` or a page dataset's folder")
    parser.add_argument("--repeats", type=int, default=3, help="calls of each way; 2 or more")
    parser.add_argument("--mode", choices=[*CASES], action="append", help="default: both")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        print(json.dumps(measure(args.case, args.mode[0], args.data, args.repeats)))
        return
    if args.repeats < 2:
        parser.error("--repeats must be 2 or more: the second call is what is measured")
    for mode in args.mode or CASES:
        show(mode, {case: _apart(case, mode, args) for case in CASES[mode]})


def _apart(case: str, mode: str, args: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--case", case, "--mode", mode, "--data", args.data]
    done = subprocess.run(
        [*command, "--repeats", str(args.repeats)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
