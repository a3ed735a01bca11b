"""Run inside the image: writes a tar with `tiny-llama/`, a Llama small enough for two cores, to standard output.

Random weights in a real checkpoint, so that the loader is exercised and not only the forward: 2 layers, hidden size
64, 4 heads over 2 KV heads of 32, the smallest head size that vLLM's attention on the CPU computes.
"""

import io
import json
import sys
import tarfile

import numpy as np
from safetensors.numpy import save
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

VOCABULARY, HIDDEN, INTERMEDIATE, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 128, 64, 128, 2, 4, 2, 32

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def weights():
    """Name -> array, under the names of a Hugging Face checkpoint."""
    random = np.random.default_rng(0)

    def matrix(rows, columns, scale):
        return (random.standard_normal((rows, columns)) * scale).astype(np.float32)

    def norm():
        return (1 + random.standard_normal(HIDDEN) * 0.1).astype(np.float32)

    yield "model.embed_tokens.weight", matrix(VOCABULARY, HIDDEN, 1)
    yield "lm_head.weight", matrix(VOCABULARY, HIDDEN, 0.3)
    yield "model.norm.weight", norm()
    shapes = {
        "self_attn.q_proj": (HEADS * HEAD_DIM, HIDDEN),
        "self_attn.k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
        "self_attn.v_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
        "self_attn.o_proj": (HIDDEN, HEADS * HEAD_DIM),
        "mlp.gate_proj": (INTERMEDIATE, HIDDEN),
        "mlp.up_proj": (INTERMEDIATE, HIDDEN),
        "mlp.down_proj": (HIDDEN, INTERMEDIATE),
    }
    for layer in range(LAYERS):
        for name, (rows, columns) in shapes.items():
            yield f"model.layers.{layer}.{name}.weight", matrix(rows, columns, 0.3)
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"model.layers.{layer}.{name}.weight", norm()


def tokenizer():
    """One token a word: `w0`, `w1`, …"""
    words = ["<unk>", "<s>", "</s>", *(f"w{index}" for index in range(VOCABULARY - 3))]
    model = WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>")
    result = Tokenizer(model)
    result.pre_tokenizer = Whitespace()
    return result.to_str()


def main():
    """Write the tar."""
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    files = {
        "config.json": json.dumps(CONFIG).encode(),
        "tokenizer.json": tokenizer().encode(),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special}).encode(),
        "model.safetensors": save(dict(weights()), metadata={"format": "pt"}),
    }
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"tiny-llama/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


main()
