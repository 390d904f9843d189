"""Token ids are kept between calls, and never used where they would be other ones now."""

import functools

import pytest
import torch
from sentence_transformers import SentenceTransformer

from mteb_nano.evaluators import NanoViDoReV3Evaluator
from mteb_nano.evaluators.tokens import TokenIds
from tests.evaluators import tiny

pytest.importorskip(
    "sentence_transformers.base.modules.transformer",
    reason="tokens are kept for sentence-transformers 6",
)
TEXTS = ["a b", "a much longer text", "c"]


def features_of(tokens, model, **kwargs):
    with tokens.kept_for(model):
        return model.preprocess(TEXTS, **kwargs)


def longer_prompts(model):
    model.prompts = {"document": "read this: "}


def shorter(model):
    model.max_seq_length = 5


def left_padding(model):
    model.tokenizer.padding_side = "left"


def lower_case(model):
    from tokenizers import normalizers

    model.tokenizer.backend_tokenizer.normalizer = normalizers.Prepend("zz")


def another_token(model):
    model.tokenizer.add_tokens(["page"])
    model[0].model.resize_token_embeddings(len(model.tokenizer))


@pytest.mark.parametrize("kind", ["dense", "late"])
def test_later_calls_ask_no_tokenizer(kind, pages, request):
    """The second call has the scores of the first, and of an evaluator that keeps nothing."""
    model = request.getfixturevalue(kind)
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=5)
    first = (evaluator(model), evaluator.per_query)
    asked = evaluator._tokens.n_asked
    assert asked == 2 + 3  # batches of the two sources' queries, and of 12 pages
    second = (evaluator(model), evaluator.per_query)
    assert evaluator._tokens.n_asked == asked
    assert first[1] == second[1]
    plain = NanoViDoReV3Evaluator("markdown", data=pages, batch_size=5, cache_mb=0)
    plain(model)
    plain(model)
    assert plain._tokens.n_asked == 2 * asked
    assert plain.per_query == first[1]
    assert "preprocess" not in vars(model)


@pytest.mark.parametrize(
    "change", [longer_prompts, shorter, left_padding, lower_case, another_token]
)
def test_a_change_is_seen(change, pages, tmp_path):
    """After any change of what makes the tokens, the scores are those of a fresh evaluator."""
    model = tiny.dense(tmp_path)
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages)
    evaluator(model)
    asked = evaluator._tokens.n_asked
    change(model)
    evaluator(model)
    fresh = NanoViDoReV3Evaluator("markdown", data=pages)
    fresh(model)
    assert evaluator._tokens.n_asked > asked
    assert evaluator.per_query == fresh.per_query


def test_another_model_is_seen(pages, dense, clip):
    """A model with another tokenizer gets its own tokens; the first one's are made anew."""
    other = SentenceTransformer(str(clip), device="cpu")
    evaluator = NanoViDoReV3Evaluator("markdown", data=pages)
    found = {}
    for model in (dense, other, dense, other):
        evaluator(model)
        assert found.setdefault(id(model), evaluator.per_query) == evaluator.per_query


def test_kept_features_are_not_written_to(dense):
    """A module that writes into the features that it got does not change the kept ones."""
    tokens = TokenIds(1)
    expected = dense.preprocess(TEXTS)
    for _ in range(3):
        found = features_of(tokens, dense)
        assert all(torch.equal(found[k], v) for k, v in expected.items() if torch.is_tensor(v))
        found["attention_mask"].zero_()
    assert tokens.n_asked == 1


def test_a_prompt_is_told_apart(dense):
    """The same texts with another prompt, or for another task, are other tokens."""
    tokens = TokenIds(1)
    plain = features_of(tokens, dense)
    asked = features_of(tokens, dense, prompt="look for: ")
    assert asked["input_ids"].shape != plain["input_ids"].shape
    assert torch.equal(features_of(tokens, dense)["input_ids"], plain["input_ids"])


@pytest.mark.parametrize("part", ["model", "module"])
def test_a_preprocess_of_ones_own_is_left_alone(part, dense):
    """A model whose `preprocess`, or its module's, somebody has replaced is asked each time."""
    tokens = TokenIds(1)
    owner = dense if part == "model" else dense[0]
    owner.preprocess = functools.partial(owner.preprocess)
    features_of(tokens, dense)
    assert tokens.n_asked == 0
    assert "preprocess" in vars(owner)
