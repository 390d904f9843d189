"""A random ColQwen3.5 with 200,000 parameters, made from its config: the real code, no download."""

from pathlib import Path

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)


def save_tiny_colqwen(folder: Path, *, seed: int = 0, width: int = 1, layers: int = 4) -> None:
    """Write the model and its processor to a folder that `from_pretrained` loads.

    `width` multiplies the hidden sizes; a quarter of the layers have full attention.
    """
    import torch
    from colpali_engine.models import ColQwen3_5

    processor = _processor()
    torch.manual_seed(seed)
    model = ColQwen3_5(_config(processor.tokenizer, width, layers)).eval()
    # With a bias of zero all tokens of a random model point the same way.
    torch.nn.init.normal_(model.custom_text_proj.bias, std=0.1)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


def _processor():
    from colpali_engine.models import ColQwen3_5Processor
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

    # 16 pixels a token, 4 to 64 tokens a page.
    pixels = {"shortest_edge": 16 * 16 * 4, "longest_edge": 16 * 16 * 64}
    patches = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
    return ColQwen3_5Processor(
        image_processor=Qwen2VLImageProcessor(size=pixels, **patches),
        tokenizer=_tokenizer(),
        video_processor=Qwen3VLVideoProcessor(**patches),
        chat_template="{% for m in messages %}{{ m['content'] }}{% endfor %}",
    )


def _tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[0],
        additional_special_tokens=list(SPECIAL[1:]),
        padding_side="left",
        model_max_length=4096,
    )


def _config(tokenizer, width, layers):
    from transformers.models.qwen3_5 import Qwen3_5Config

    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL}
    config = Qwen3_5Config(
        text_config={
            "vocab_size": len(tokenizer) + 1,
            "hidden_size": 64 * width,
            "intermediate_size": 96 * width,
            "num_hidden_layers": layers,  # of four, three of linear and one of full attention
            "num_attention_heads": 2 * width,
            "num_key_value_heads": 1,
            "head_dim": 32,
            "linear_key_head_dim": 16,
            "linear_value_head_dim": 16,
            "linear_num_key_heads": 2 * width,
            "linear_num_value_heads": 2 * width,
            "max_position_embeddings": 4096,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "partial_rotary_factor": 0.5,
                "mrope_section": [4, 2, 2],
                "mrope_interleaved": True,
            },
            "pad_token_id": ids["<|endoftext|>"],
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 8,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "out_hidden_size": 64 * width,
            "num_position_embeddings": 256,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    config.dim = 16
    return config
