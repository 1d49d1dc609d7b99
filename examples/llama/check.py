"""Runs example_llama and holds its logits against a Llama in NumPy: check.py PROGRAM [option...]

Weights are the program's, rounded to its type; everything else is computed in double. The reference follows the tokens
that the program chose. Ends with 77 (skipped) where there is no NumPy or no such device."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("no NumPy here")
    sys.exit(77)

LAYERS, WIDTH, HEADS, KV, INNER, VOCABULARY, CONTEXT, PROMPT, SEED, EPSILON = 2, 64, 4, 2, 128, 256, 64, 7, 1, 1e-5
HEAD = WIDTH // HEADS
BOUND = {"f32": 2e-5, "f16": 6e-3, "bf16": 5e-2}  # of the largest logit


def rounded(values, dtype):
    values = values.astype("f4")
    if dtype == "bf16":
        bits = values.view("u4")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view("f4").astype("f8")
    return values.astype("f2" if dtype == "f16" else "f4").astype("f8")


def weights(shape, number, scale, dtype):
    with np.errstate(over="ignore"):
        start = np.uint64(SEED << 32 | number) * np.uint64(0x9E3779B97F4A7C15)
        bits = (start + np.arange(np.prod(shape), dtype="u8")) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ bits >> np.uint64(31)) * np.uint64(0x94D049BB133111EB)
    return rounded(((bits >> np.uint64(40)) / 2.0**23 - 1) * scale, dtype).reshape(shape)


def norm(x, w):
    return x * w / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON)


def forward(tokens, model, dtype):
    """Logits of the token after all of these."""
    embeddings, layers, last_norm, head = model
    x, n, half = embeddings[tokens], len(tokens), HEAD // 2
    angles = np.arange(n)[:, None] * 10000.0 ** (-np.arange(half) / half)
    sin, cos = rounded(np.sin(angles), dtype)[:, None], rounded(np.cos(angles), dtype)[:, None]
    for attention_norm, qkv, out, mlp_norm, gate_up, down in layers:
        every = (norm(x, attention_norm) @ qkv.T).reshape(n, HEADS + 2 * KV, HEAD)
        a, b = every[..., :half], every[..., half:]
        turned = np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)
        q, k, v = turned[:, :HEADS], turned[:, HEADS:HEADS + KV], every[:, HEADS + KV:]
        k, v = (np.repeat(t, HEADS // KV, 1) for t in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(HEAD) + np.triu(np.full((n, n), -np.inf), 1)
        mass = np.exp(scores - scores.max(-1, keepdims=True))
        x = x + np.einsum("hij,jhd->ihd", mass / mass.sum(-1, keepdims=True), v).reshape(n, WIDTH) @ out.T
        gate, up = np.split(norm(x, mlp_norm) @ gate_up.T, 2, -1)
        x = x + (up * gate / (1 + np.exp(-gate))) @ down.T
    return norm(x[-1], last_norm) @ head.T


def make_model(dtype):
    s, i = np.sqrt(3 / WIDTH), np.sqrt(3 / INNER)
    shapes = [((WIDTH,), 1), (((HEADS + 2 * KV) * HEAD, WIDTH), s), ((WIDTH, WIDTH), s), ((WIDTH,), 1),
              ((2 * INNER, WIDTH), s), ((WIDTH, INNER), i)]
    layers = [[weights(shape, 1 + 6 * layer + k, scale, dtype) for k, (shape, scale) in enumerate(shapes)] for layer in range(LAYERS)]
    number = 1 + 6 * LAYERS
    return weights((VOCABULARY, WIDTH), 0, 1, dtype), layers, weights((WIDTH,), number, 1, dtype), weights((VOCABULARY, WIDTH), number + 1, s, dtype)


def check(dtype, program, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results")
        done = subprocess.run([program, "--dtype", dtype, "--results", path, *options])
        if done.returncode != 0:
            sys.exit(done.returncode)
        rows = np.fromfile(path, np.dtype([("token", "i8"), ("logits", "f4", VOCABULARY)]))
    model, tokens, worst, apart = make_model(dtype), [(i * 37 + 11) % VOCABULARY for i in range(PROMPT)], 0.0, 0
    for token, logits in rows:
        expected = forward(np.array(tokens), model, dtype)
        worst = max(worst, np.abs(logits - expected).max() / np.abs(expected).max())
        apart += int(token != expected.argmax())
        tokens.append(int(token))
    print(f"{dtype}: {len(rows)} rows of logits, largest error {worst:.2e} of the largest logit, {apart} other tokens")
    return len(rows) > 8 and worst <= BOUND[dtype] and (dtype != "f32" or apart == 0)


if __name__ == "__main__":
    sys.exit(0 if all([check(dtype, sys.argv[1], sys.argv[2:]) for dtype in BOUND]) else 1)
