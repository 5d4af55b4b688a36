"""Models of transformers by their configurations, made small, with random weights."""

import torch
import transformers
from exported.case import Case

SOURCE = "transformers"
VERSION = transformers.__version__
SHORT = ("bert", "gpt2", "llama", "t5", "vit")

# What a configuration has of these; the rest are its defaults.
SMALL = {
    "vocab_size": 99,
    "hidden_size": 32,
    "dim": 32,
    "hidden_dim": 64,
    "d_model": 32,
    "d_ff": 64,
    "d_kv": 8,
    "d_inner": 64,
    "n_embd": 32,
    "n_ctx": 64,
    "n_positions": 64,
    "embedding_size": 32,
    "emb_dim": 32,
    "ffn_dim": 64,
    "intermediate_size": 64,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_kv_heads": 2,
    "num_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "type_vocab_size": 2,
    "dropout": 0.0,
}
ENCODERS = """
albert bert big_bird camembert canine convbert data2vec-text deberta deberta-v2 distilbert electra
ernie esm eurobert flaubert fnet funnel ibert layoutlm longformer luke megatron-bert mobilebert
modernbert mpnet mra nomic_bert nystromformer rembert roberta roberta-prelayernorm roc_bert
roformer splinter squeezebert xlm xlm-roberta xlnet xmod
""".split()
DECODERS = """
biogpt bloom codegen cohere ctrl deepseek_v3 falcon falcon_mamba gemma gemma2 gemma3_text glm gpt2
gpt_bigcode gpt_neo gpt_neox gpt_oss gptj granite granitemoe helium llama mamba mamba2 mistral
mixtral mpt nemotron olmo olmo2 olmoe openai-gpt opt persimmon phi phi3 qwen2 qwen2_moe qwen3
qwen3_moe recurrent_gemma rwkv smollm3 stablelm starcoder2 xglm
""".split()
PAIRS = """
bart blenderbot fsmt led m2m_100 marian mbart mt5 mvp pegasus pegasus_x plbart prophetnet t5 umt5
""".split()
PICTURES = """
beit bit convnext convnextv2 cvt deit dinov2 dinov2_with_registers dinov3_vit dpt efficientnet
focalnet glpn hiera ijepa levit mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2 poolformer pvt
pvt_v2 regnet resnet segformer swiftformer swin swin2sr swinv2 vit vit_mae vit_msn yolos
""".split()
SOUNDS = "data2vec-audio hubert sew unispeech wav2vec2 wavlm".split()
BOTH = "blip chinese_clip clip clipseg siglip vilt".split()
OVERRIDES: dict[str, dict] = {
    "codegen": {"rotary_dim": 4},
    "deepseek_v3": {"qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
    | {"kv_lora_rank": 16, "q_lora_rank": 16, "n_group": 1, "topk_group": 1, "head_dim": 8}
    | {"num_key_value_heads": 4},
    "efficientnet": {"hidden_dim": 2560, "image_size": 64},
    "esm": {"vocab_size": 99, "mask_token_id": 4, "pad_token_id": 1},
    "funnel": {"block_sizes": [1, 1, 1], "block_repeats": [1, 1, 1]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "gptj": {"rotary_dim": 4},
    "mamba2": {"head_dim": 16, "n_groups": 1, "state_size": 16},
    "nemotron": {"num_key_value_heads": 2},
    "xmod": {"default_language": "en_XX"},
}
PLAIN = ("convnext", "convnextv2", "swin2sr")  # small enough as they are
NOT_SET = {
    "funnel": ("num_hidden_layers", "num_layers"),
    "prophetnet": ("num_hidden_layers", "num_layers"),
    "xlnet": ("max_position_embeddings",),
}


def small(name: str, **more) -> transformers.PretrainedConfig:
    if name in PLAIN:
        return transformers.AutoConfig.for_model(name)
    whole = transformers.AutoConfig.for_model(name)
    fitting = {
        key: value
        for key, value in SMALL.items()
        if isinstance(getattr(whole, key, None), int | float)
        and not isinstance(getattr(type(whole), key, None), property)
        and key not in NOT_SET.get(name, ())
    }
    if "vocab_size" in fitting:
        fitting |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return transformers.AutoConfig.for_model(name, **fitting | more | OVERRIDES.get(name, {}))


def names() -> list[str]:
    return sorted([*ENCODERS, *DECODERS, *PAIRS, *PICTURES, *SOUNDS, *BOTH, "whisper"])


def tokens(rows: int = 2, length: int = 10) -> torch.Tensor:
    return torch.randint(3, 90, (rows, length))


def picture(config: transformers.PretrainedConfig) -> torch.Tensor:
    size = getattr(config, "image_size", 64)
    size = size if isinstance(size, list | tuple) else (size, size)
    return torch.randn(1, getattr(config, "num_channels", 3), *size)


def make(name: str) -> Case:
    auto = transformers.AutoModel
    if name in ENCODERS:
        config = small(name)
        mask = torch.ones(2, 10, dtype=torch.int64)
        mask[1, 7:] = 0
        given: dict = {"input_ids": tokens(), "attention_mask": mask}
    elif name in DECODERS:
        auto, config = transformers.AutoModelForCausalLM, small(name)
        given = {"input_ids": tokens(), "use_cache": False}
    elif name in PAIRS:
        config = small(name)
        given = {"input_ids": tokens(), "decoder_input_ids": tokens(2, 6), "use_cache": False}
    elif name in PICTURES:
        config = small(name)
        given = {"pixel_values": picture(config)}
        if name == "vit_mae":  # which patches it takes away
            given["noise"] = torch.rand(1, (config.image_size // config.patch_size) ** 2)
    elif name in SOUNDS:
        config = small(name)
        given = {"input_values": torch.randn(1, 4000)}
    elif name == "whisper":
        config = small(name, max_source_positions=50, num_mel_bins=16)
        given = {"input_features": torch.randn(1, 16, 100), "decoder_input_ids": tokens(1, 6)}
        given["use_cache"] = False
    else:
        config = small(name)
        vision = getattr(config, "vision_config", config)
        given = {"input_ids": tokens(1), "pixel_values": picture(vision)}
    module = auto.from_config(config).eval()
    return Case(module, (), given)
