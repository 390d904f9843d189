"""A random Qwen2-VL, small enough for a test, made from its config: the real code, no download."""

import torch

from tests.vidore.tiny_colqwen import SPECIAL, _tokenizer

SIDE = 16  # pixels of a token: two patches of 8, merged
# As the chat templates of these models have it: an image stands before the text of its page.
TEMPLATE = (
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m.content %}{% if part.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}"
    "{% endif %}{% endfor %}<|im_end|>"
)


def save_qwen(folder, *, seed: int = 0):
    """Write a Qwen2-VL that gives a page 4 to 16 tokens."""
    from transformers import Qwen2VLModel

    torch.manual_seed(seed)
    processor = _processor()
    Qwen2VLModel(_config(processor.tokenizer)).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_colqwen2(folder, *, seed: int = 0):
    """Write the same with the head of a ColQwen2 of transformers."""
    from transformers import ColQwen2Config, ColQwen2ForRetrieval, ColQwen2Processor

    torch.manual_seed(seed)
    parts = _processor()
    config = ColQwen2Config(vlm_config=_config(parts.tokenizer), embedding_dim=16)
    ColQwen2ForRetrieval(config).save_pretrained(folder)
    processor = ColQwen2Processor(
        image_processor=parts.image_processor,
        tokenizer=parts.tokenizer,
        visual_prompt_prefix="<|vision_start|><|image_pad|><|vision_end|>",
        query_prefix="Query: ",
    )
    processor.save_pretrained(folder)
    return folder


def _processor():
    from transformers import Qwen2VLProcessor
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    size = {"shortest_edge": 4 * SIDE**2, "longest_edge": 16 * SIDE**2}
    patches = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2, "size": size}
    return Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(**patches),
        tokenizer=_tokenizer(),
        video_processor=Qwen2VLVideoProcessor(**patches),
        chat_template=TEMPLATE,
    )


def _config(tokenizer):
    from transformers import Qwen2VLConfig

    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 4096,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [2, 3, 3],
        },
        "initializer_range": 0.3,
        "pad_token_id": ids["<|endoftext|>"],
        "bos_token_id": None,
        "eos_token_id": ids["<|im_end|>"],
    }
    vision = {
        "depth": 2,
        "embed_dim": 32,
        "hidden_size": 32,
        "num_heads": 2,
        "mlp_ratio": 2,
        "patch_size": 8,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "initializer_range": 0.3,
    }
    return Qwen2VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
