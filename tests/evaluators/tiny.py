"""Random models of every kind, small enough for a test, made without a download."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    CLIPProcessor,
    PreTrainedTokenizerFast,
)

WIDTH = 32


def tokenizer(max_length: int = 64) -> PreTrainedTokenizerFast:
    """Return a tokenizer of bytes."""
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    special = list(names.values())
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(
        models.WordLevel({t: i for i, t in enumerate([*special, *alphabet])}, special[1])
    )
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Split("", "isolated")]
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=max_length,
        **names,
    )


def save_bert(folder, *, seed: int = 0):
    """Write a BERT with a byte tokenizer."""
    torch.manual_seed(seed)
    words = tokenizer()
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    BertModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def save_clip(folder, *, seed: int = 0, pixels: int = 32):
    """Write a CLIP with a byte tokenizer."""
    torch.manual_seed(seed)
    words = tokenizer()
    common = {
        "hidden_size": WIDTH,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "initializer_range": 0.3,
    }
    ids = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    config = CLIPConfig(
        text_config={
            "vocab_size": len(words),
            "max_position_embeddings": 64,
            **common,
            **ids,
        },
        vision_config={"image_size": pixels, "patch_size": 8, **common},
        projection_dim=16,
    )
    CLIPModel(config).save_pretrained(folder)
    images = CLIPImageProcessor(
        size={"shortest_edge": pixels}, crop_size={"height": pixels, "width": pixels}
    )
    CLIPProcessor(image_processor=images, tokenizer=words).save_pretrained(folder)
    return folder


def dense(folder, **kwargs):
    """Return a SentenceTransformer of texts."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(save_bert(folder)), device="cpu", **kwargs)


def multimodal(folder):
    """Return a SentenceTransformer of texts and images."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(save_clip(folder)), device="cpu")


def late_interaction(folder):
    """Return a MultiVectorEncoder of texts."""
    from sentence_transformers import MultiVectorEncoder

    return MultiVectorEncoder(str(save_bert(folder)), device="cpu")
