"""Runs example_llama and holds its logits against a Llama in NumPy: check.py [--safetensors] PROGRAM [option...]

Weights are the program's, rounded to its type; everything else is computed in double. The reference follows the tokens
that the program chose. With --safetensors the weights are written as Hugging Face's files are, and read by the program.
Ends with 77 (skipped) where there is no NumPy or no such device."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("no NumPy here")
    sys.exit(77)

LAYERS, WIDTH, HEADS, KV, INNER, VOCABULARY, CONTEXT, PROMPT, SEED, EPSILON, THETA = 2, 64, 4, 2, 128, 256, 64, 7, 1, 1e-5, 10000.0
HEAD = WIDTH // HEADS
BOUND = {"f32": 2e-5, "f16": 6e-3, "bf16": 5e-2}  # of the largest logit
CONFIG = {"num_hidden_layers": LAYERS, "hidden_size": WIDTH, "num_attention_heads": HEADS, "num_key_value_heads": KV,
          "intermediate_size": INNER, "vocab_size": VOCABULARY, "rms_norm_eps": EPSILON, "rope_theta": THETA}


def shapes():
    yield "model.embed_tokens.weight", (VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        for name, shape in {"input_layernorm": (WIDTH,), "self_attn.q_proj": (HEADS * HEAD, WIDTH), "self_attn.k_proj": (KV * HEAD, WIDTH),
                            "self_attn.v_proj": (KV * HEAD, WIDTH), "self_attn.o_proj": (WIDTH, HEADS * HEAD), "post_attention_layernorm": (WIDTH,),
                            "mlp.gate_proj": (INNER, WIDTH), "mlp.up_proj": (INNER, WIDTH), "mlp.down_proj": (WIDTH, INNER)}.items():
            yield f"model.layers.{layer}.{name}.weight", shape
    yield "model.norm.weight", (WIDTH,)
    yield "lm_head.weight", (VOCABULARY, WIDTH)


def stored(values, dtype):
    """As they lie in a file or in memory."""
    values = values.astype("f4")
    if dtype != "bf16":
        return values.astype("f2" if dtype == "f16" else "f4")
    bits = values.view("u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u2")


def rounded(values, dtype):
    bits = stored(values, dtype)
    return ((bits.astype("u4") << 16).view("f4") if dtype == "bf16" else bits).astype("f8")


def random_weights(name, shape):
    start = 0xCBF29CE484222325
    for c in name.encode():
        start = (start ^ c) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    start = np.uint64((start + SEED * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        bits = (start + np.arange(np.prod(shape), dtype="u8")) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ bits >> np.uint64(31)) * np.uint64(0x94D049BB133111EB)
    scale = 1 if len(shape) == 1 else np.sqrt(3 / shape[-1])
    return (((bits >> np.uint64(40)) / 2.0**23 - 1) * scale).astype("f4").reshape(shape)


def norm(x, w):
    return x * w / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON)


def forward(tokens, model, dtype):
    """Logits of the token after all of these."""
    x, n, half = model["model.embed_tokens.weight"][tokens], len(tokens), HEAD // 2
    angles = np.arange(n)[:, None] * THETA ** (-np.arange(half) / half)
    sin, cos = rounded(np.sin(angles), dtype)[:, None], rounded(np.cos(angles), dtype)[:, None]

    def turned(x):
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    for layer in range(LAYERS):
        w = {key.split(f"model.layers.{layer}.")[1][:-7]: value for key, value in model.items() if f"layers.{layer}." in key}
        y = norm(x, w["input_layernorm"])
        q, k, v = ((y @ w[f"self_attn.{one}_proj"].T).reshape(n, -1, HEAD) for one in "qkv")
        k, v = (np.repeat(t, HEADS // KV, 1) for t in (turned(k), v))
        scores = np.einsum("ihd,jhd->hij", turned(q), k) / np.sqrt(HEAD) + np.triu(np.full((n, n), -np.inf), 1)
        mass = np.exp(scores - scores.max(-1, keepdims=True))
        x = x + np.einsum("hij,jhd->ihd", mass / mass.sum(-1, keepdims=True), v).reshape(n, -1) @ w["self_attn.o_proj"].T
        y = norm(x, w["post_attention_layernorm"])
        gate, up = y @ w["mlp.gate_proj"].T, y @ w["mlp.up_proj"].T
        x = x + (up * gate / (1 + np.exp(-gate))) @ w["mlp.down_proj"].T
    return norm(x[-1], model["model.norm.weight"]) @ model["lm_head.weight"].T


def write_file(path, tensors, dtype):
    header, blob = {}, b""
    for name, values in tensors.items():
        one = stored(values, dtype).tobytes()
        header[name] = {"dtype": dtype.upper(), "shape": values.shape, "data_offsets": [len(blob), len(blob) + len(one)]}
        blob += one
    words = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(words).to_bytes(8, "little") + words + blob)


def write_model(folder, dtype):
    """f32 in one file, f16 in two with an index, bf16 in one whose embeddings are the head, too. Gives the tensors."""
    tensors = {name: random_weights(name[::-1], shape) for name, shape in shapes()}  # not those of the program
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file, indent=2)
    if dtype == "bf16":
        del tensors["lm_head.weight"]
    parts = [dict(list(tensors.items())[i::2]) for i in range(2)] if dtype == "f16" else [tensors]
    names = [f"model-{i + 1:05}-of-00002.safetensors" for i in range(2)] if len(parts) == 2 else ["model.safetensors"]
    for name, part in zip(names, parts):
        write_file(os.path.join(folder, name), part, dtype)
    if len(parts) == 2:
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
            json.dump({"metadata": {}, "weight_map": {key: name for name, part in zip(names, parts) for key in part}}, file)
    return {**tensors, "lm_head.weight": tensors.get("lm_head.weight", tensors["model.embed_tokens.weight"])}


def refuses(program, folder, words):
    """A program that is told in `words` what is wrong, and ends with 1."""
    done = subprocess.run([program, "--weights", folder], capture_output=True, text=True)
    if done.returncode == 1 and words in done.stderr:
        return True
    print(f"expected {words!r}: status {done.returncode}, {done.stderr}")
    return False


def check_refusals(program):
    with tempfile.TemporaryDirectory() as folder:
        ok = refuses(program, folder, "neither model.safetensors nor its index")
        tensors = write_model(folder, "f32")
        path = os.path.join(folder, "model.safetensors")
        write_file(path, {**tensors, "model.norm.weight": tensors["model.norm.weight"][:-1]}, "f32")
        ok &= refuses(program, folder, "model.norm.weight is [63]; expected [64]")
        del tensors["model.layers.1.mlp.up_proj.weight"]
        write_file(path, tensors, "f32")
        ok &= refuses(program, folder, "has no model.layers.1.mlp.up_proj.weight")
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump({**CONFIG, "rope_scaling": {"rope_type": "llama3"}}, file)
        return ok & refuses(program, folder, "rope_type")


def check(dtype, program, options, reads_files):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results")
        model = write_model(folder, dtype) if reads_files else {name: random_weights(name, shape) for name, shape in shapes()}
        if reads_files:
            options = [*options, "--weights", folder]
        done = subprocess.run([program, "--dtype", dtype, "--results", path, *options])
        if done.returncode != 0:
            sys.exit(done.returncode)
        rows = np.fromfile(path, np.dtype([("token", "i8"), ("logits", "f4", VOCABULARY)]))
    model, tokens, worst, apart = {name: rounded(w, dtype) for name, w in model.items()}, [(i * 37 + 11) % VOCABULARY for i in range(PROMPT)], 0.0, 0
    for token, logits in rows:
        expected = forward(np.array(tokens), model, dtype)
        worst = max(worst, np.abs(logits - expected).max() / np.abs(expected).max())
        apart += int(token != expected.argmax())
        tokens.append(int(token))
    print(f"{dtype}: {len(rows)} rows of logits, largest error {worst:.2e} of the largest logit, {apart} other tokens")
    return len(rows) > 8 and worst <= BOUND[dtype] and (dtype != "f32" or apart == 0)


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--safetensors"]
    reads_files = "--safetensors" in sys.argv
    ok = all([check(dtype, arguments[0], arguments[1:], reads_files) for dtype in BOUND])
    sys.exit(0 if ok and (not reads_files or check_refusals(arguments[0])) else 1)
