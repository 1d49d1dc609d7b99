"""Tensors in files by the command line: every format there and back, parts, shards, and all that must be refused."""
import json
import os
import pathlib
import struct
import sys
import tempfile
import zipfile

from tensor_files import Tool, check, failures, npy, numbers, plain_npy, read_npy, read_safetensors, safetensors, tensor

TOOL = Tool(sys.argv[1])
succeeds, refused = TOOL.succeeds, TOOL.refused


def bad_npy(folder):
    path = folder / "bad.npy"
    good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
    data = bytes(8)
    cases = [
        (b"", "is no .npy file"), (b"\x93NUMPX" + bytes(20), "is no .npy file"),
        (npy(good, data, length=0), "header of 0 bytes"), (npy(good, data, length=60000), "but only"),
        (npy(good, data, (2, 0), length=2**32 - 1), "at most"), (npy(good.rstrip(), data), "newline"),
        (npy(good.replace("(2,)", "(2)"), data), "comma"), (npy(good.replace("'shape': (2,), ", ""), data), "'shape' is missing"),
        (npy(good.replace("}", "'more': 1}"), data), "unknown key 'more'"),
        (npy(good.replace("}", "'shape': (2,)}"), data), "comes twice"),
        (npy(good.replace("False", "0"), data), "neither True nor False"),
        (npy(good.replace("(2,)", "(-1,)"), data), "expected an extent"), (npy(good.replace("(2,)", "(2.0,)"), data), "needs a comma"),
        (npy(good.replace("(2,)", "(99999999999999999999,)"), data), "too large"),
        (npy(good.replace("(2,)", f"({2**62}, 4)"), data), "2^63"), (npy(good.replace("(2,)", "(" * 100000), data, (2, 0)), "expected an extent"),
        (npy(good.replace("<f4", "|O"), data), "object arrays"), (npy(good.replace("<f4", ">f4"), data), "other byte order"),
        (npy(good.replace("'<f4'", "[('a', '<f4')]"), data), "structured"), (npy(good.replace("<f4", "<V2"), data), "no type"),
        (npy(good, data[:7]), "7 bytes of data; its shape needs 8"), (npy(good, data + b"x"), "9 bytes of data"),
    ]
    cases += [(npy(good, data, (v, 0)), f"version {v}.0") for v in (0, 4)] + [(npy(good, data, (1, 1)), "version 1.1")]
    for raw, text in cases:
        path.write_bytes(raw)
        refused(["info", path], text)
    for version in (1, 2, 3):
        path.write_bytes(npy(good, data, (version, 0)))
        succeeds("info", path)
    path.write_bytes(plain_npy("<f4", (0, 2**62, 8), b""))
    check("0x4611686018427387904x8" in succeeds("info", path), "a zero next to a huge dim")


def bad_safetensors(folder):
    path = folder / "bad.safetensors"
    one = {"a": tensor("F32", [2], 0, 8)}
    data = bytes(8)
    text = json.dumps(one)
    cases = [
        (b"", "has 0 bytes"), (b"1234567", "has 7 bytes"), (safetensors(one, data, length=0), "header of 0 bytes"),
        (safetensors(one, data, length=9999), "but only"), (safetensors(one, data, length=2**63), "at most"),
        (safetensors(one, data, length=100_000_001), "at most"), (safetensors("[]", data), "no JSON object"),
        (safetensors(b"\xef\xbb\xbf" + text.encode(), data), "no JSON object"), (safetensors(text.replace("a", "\0"), data), "control character"),
        (safetensors(text.replace('"a"', '"\\u0000"'), data), "NUL"), (safetensors(text[:-1] + ", " + text[1:], data), "comes twice"),
        (safetensors('{"a":' * 70 + "1" + "}" * 70), "unknown key"), (safetensors('{"__metadata__": ' + "[" * 100000), "object"),
        (safetensors({"a": tensor("F32", [2], 8, 0)}, data), "ends before it begins"),
        (safetensors({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 4, 8)}, data), "overlaps"),
        (safetensors({"a": tensor("F32", [1], 4, 8)}, data), "a gap"), (safetensors({"a": tensor("F32", [2], 0.0, 8)}, data), "fraction"),
        (safetensors({"a": tensor("F32", [2], -8, 0)}, data), "negative"),
        (safetensors({"a": tensor("U8", [2**53 + 1], 0, 2**53 + 1)}, data), str(2**53 + 1)),
        (safetensors({"a": tensor("F33", [2], 0, 8)}, data), "unknown dtype"), (safetensors({"a": tensor("F32", [3], 0, 8)}, data), "needs 12"),
        (safetensors({"a": tensor("F32", [2**62, 4], 0, 8)}, data), "2^63"),
        (safetensors({"__metadata__": {"k": 1}, **one}, data), "no string"), (safetensors({"__metadata__": ["k"], **one}, data), "object"),
        (safetensors(one, data + b"!"), "1 bytes after"), (safetensors(one, data[:4]), "of which there are 4"),
        (safetensors({"a": {**one["a"], "more": 1}}, data), "unknown key"), (safetensors({"a": {"dtype": "F32"}}, data), "lacks"),
        (safetensors(text + "x", data), "nothing was expected"), (safetensors(text.replace('"a"', '"\\ud800"'), data), "surrogate"),
        (safetensors(text.encode().replace(b'"a"', b'"\xff"'), data), "UTF-8"), (safetensors(text.replace("[2]", "[02]"), data), "leading 0"),
        (safetensors(text.replace("[2]", "[2,]"), data), "whole number"), (safetensors(text.replace("}}", "},}"), data), "string"),
    ]
    for raw, expected in cases:
        path.write_bytes(raw)
        refused(["info", path], expected)
    path.write_bytes(safetensors({"../x\u00e9\u4e2d\U0001f600\"\\": tensor("F32", [2], 0, 8)}, data))
    check("../xé" in succeeds("info", path), "a name with a slash and escapes")
    many = ",".join(f'"t{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' for i in range(10**6))
    path.write_bytes(safetensors("{" + many + "}"))
    check("t{0-999999}\n" in succeeds("info", path), "a million tensors on a line")
    check(succeeds("info", path, "--all").count("\n") == 10**6 + 1, "a million tensors")


def checkpoint(folder):
    """A model in two files, as one sees it: layers share lines of at most 80 columns; what is not alike is not joined."""
    shapes = {"model.embed_tokens.weight": [128256, 4096], "lm_head.weight": [128256, 4096], "model.norm.weight": [4096]}
    for i in range(32):
        layer = f"model.layers.{i}"
        shapes[f"{layer}.post_attention_layernorm.weight"] = [4096]
        for name, shape in (("q", [4096, 4096]), ("k", [1024, 4096]), ("v", [1024, 4096]), ("o", [4096, 4096])):
            shapes[f"{layer}.self_attn.{name}_proj.weight"] = shape
        for expert in range(2 if i % 2 else 1):
            shapes[f"{layer}.mlp.experts.{expert}.up_proj.weight"] = [14336, 4096] if i else [14336, 4095]
    places = {}
    for number in range(2):
        mine, at = {}, 0
        for name in list(shapes)[number::2]:
            size = 2 * shapes[name][0] * (shapes[name][1] if len(shapes[name]) > 1 else 1)
            mine[name] = tensor("BF16", shapes[name], at, at + size)
            places[name] = f"part-{number}.safetensors"
            at += size
        head = safetensors(mine)
        (folder / f"part-{number}.safetensors").write_bytes(head)
        os.truncate(folder / f"part-{number}.safetensors", len(head) + at)
    index = folder / "m.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    lines = succeeds("info", "m.safetensors.index.json", cwd=folder).splitlines()
    check(f"{len(shapes)} tensors in 2 files" in lines[0] and len(lines) == 11 and max(len(line) for line in lines if "of these" not in line) <= 80, "\n".join(lines))
    for expected in ("bf16 1024x4096     256 MiB model.layers.{0-31}.self_attn.k_proj.weight", "model.layers.0.mlp.experts.0.up_proj.weight",
                     "model.layers.{1-31}.mlp.experts.{0-1}.up_proj.weight (47 of these)"):
        check(any(expected in line for line in lines), expected, "is not in", "\n".join(lines))
    check(succeeds("info", index, "--all").count("\n") == len(shapes) + 1, "--all")
    check(len(json.loads(succeeds("info", index, "--json"))["tensors"]) == len(shapes), "--json")


def names(folder):
    """What a terminal would obey is told; one file that cannot be read does not hide the others."""
    odd = folder / "odd.safetensors"
    odd.write_bytes(safetensors({"__metadata__": {"by": "\x1b[2J"}, "\x1b]0;title\x07\x9bm": tensor("U8", [1], 0, 1), "": tensor("U8", [1], 1, 2)}, b"ab"))
    told = succeeds("info", odd)
    check("\\x1b]0;title\\x07\\x9bm" in told and "''" in told and "by: \\x1b[2J" in told and "\x1b" not in told, told)
    (folder / "bad.npy").write_bytes(b"no")
    (folder / "v.npy").write_bytes(plain_npy("|u1", (1,), b"v"))
    done = TOOL.run("info", odd, folder / "bad.npy", folder / "v.npy")
    check(done.returncode == 2 and odd.name in done.stdout and "v.npy" in done.stdout and len(done.stderr.splitlines()) == 1, done)
    refused(["convert", folder / "a\x1b[1m.npy", folder / "b.npy"], "a\\x1b[1m.npy: cannot open", folder=folder)
    refused(["convert", odd], "expected IN OUT; got 1 word", folder=folder)


def there_and_back(folder):
    values = list(range(2 * 3 * 4))
    data = struct.pack("<24f", *values)
    (folder / "a.npy").write_bytes(plain_npy("<f4", (2, 3, 4), data))
    succeeds("rearrange", folder / "a.npy", folder / "t.npy", "a b c -> c b a")
    header, raw = read_npy(folder / "t.npy")
    expected = [a * 12 + b * 4 + c for c in range(4) for b in range(3) for a in range(2)]
    check(header["shape"] == (4, 3, 2) and numbers("f", raw) == expected, "rearrange", header)
    succeeds("slice", folder / "a.npy", folder / "s.npy", "1, ::-2, 1:3")
    header, raw = read_npy(folder / "s.npy")
    check(header["shape"] == (1, 2, 2) and numbers("f", raw) == [21, 22, 13, 14], "slice", numbers("f", raw))
    for ranges, shape in (("..., 1:3", (2, 3, 2)), ("1, ...", (1, 3, 4)), ("0, 1, 2, ...,", (1, 1, 1)), ("...", (2, 3, 4))):
        succeeds("slice", folder / "a.npy", folder / "s.npy", ranges, "--replace")
        check(read_npy(folder / "s.npy")[0]["shape"] == shape, "slice", ranges)
    for ranges, text in (("..., ...", "for a whole number"), ("0, 1, 2, 3, ...", "has 5 ranges; the tensor has 3 dims")):
        refused(["slice", folder / "a.npy", folder / "s2.npy", ranges], text, folder=folder)
    succeeds("convert", folder / "a.npy", folder / "a.safetensors", "--dtype", "bf16")
    made = read_safetensors(folder / "a.safetensors")["a"]
    check(made[0] == "BF16" and numbers("H", made[2]) == [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values],
          "bf16")
    refused(["convert", folder / "a.safetensors", folder / "x.npy"], "no name for elements of bf16", folder=folder)
    succeeds("convert", folder / "a.safetensors", folder / "b.npy", "--dtype", "f32")
    check(read_npy(folder / "b.npy")[1] == data, "back from bf16")
    (folder / "f.npy").write_bytes(plain_npy("<f4", (2, 12), data, fortran=True))
    succeeds("convert", folder / "f.npy", folder / "r.npy")
    check(numbers("f", read_npy(folder / "r.npy")[1]) == values[::2] + values[1::2], "column-major")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(folder / "z.npz", "w", method) as archive:
            archive.writestr("x.npy", plain_npy("<f4", (24,), data))
            archive.writestr("y/z.npy", plain_npy("|u1", (3,), b"abc"))
        succeeds("convert", folder / "z.npz", folder / f"z{method}.safetensors")
        made = read_safetensors(folder / f"z{method}.safetensors")
        check(made["x"][2] == data and made["y/z"] == ("U8", [3], b"abc"), "npz", method)
    raw = (folder / "z.npz").read_bytes()
    for cut in (0, 10, len(raw) - 30, len(raw) - 1):
        (folder / "cut.npz").write_bytes(raw[:cut])
        refused(["info", folder / "cut.npz"], "cut.npz")
    damaged = raw.replace(b"\x93NUMPY", b"\x93NUMPZ") if method == 0 else raw[:60] + bytes(20) + raw[80:]
    (folder / "cut.npz").write_bytes(damaged)
    refused(["info", folder / "cut.npz"], "cut.npz")


def shards(folder):
    w, b = struct.pack("<64H", *range(64)), struct.pack("<2d", 1.5, 2.5)
    (folder / "m.safetensors").write_bytes(safetensors(
        {"__metadata__": {"format": "pt"}, "w": tensor("F16", [8, 8], 0, 128), "b": tensor("F64", [2], 128, 144)}, w + b))
    for dim in (0, 1):
        out = folder / f"p{dim}.safetensors"
        succeeds("shard", folder / "m.safetensors", out, "--tp", 4, "--dim", dim, "--tensor", "w", "--memory", 4096)
        parts = [folder / f"p{dim}-rank-{r}-of-4.safetensors" for r in range(4)]
        for rank, part in enumerate(parts):
            made = read_safetensors(part)
            rows = [[r * 8 + c for c in range(8)] for r in range(8)]
            mine = rows[2 * rank:2 * rank + 2] if dim == 0 else [row[2 * rank:2 * rank + 2] for row in rows]
            check(numbers("H", made["w"][2]) == sum(mine, []) and made["b"] == ("F64", [2], b), "shard", dim, rank)
        succeeds("unshard", *parts, folder / f"u{dim}.safetensors", "--dim", dim, "--tensor", "w")
        made = read_safetensors(folder / f"u{dim}.safetensors")
        check(made["w"] == ("F16", [8, 8], w) and made["b"][2] == b, "unshard", dim)
    # A shell's glob puts rank 10 before rank 2; and one that finds too few finds no model.
    (folder / "v.npy").write_bytes(plain_npy("|u1", (12,), bytes(range(12))))
    succeeds("shard", folder / "v.npy", folder / "v.npy", "--tp", 12)
    parts = sorted(folder.glob("v-rank-*-of-12.npy"))
    check(parts[2].name == "v-rank-10-of-12.npy", "the order of names")
    succeeds("unshard", *parts, folder / "whole.npy")
    check(read_npy(folder / "whole.npy")[1] == bytes(range(12)), "shards by their ranks")
    refused(["unshard", *parts[:5], *parts[6:], folder / "part.npy"], f"v-rank-3-of-12.npy: is missing, one of 12 shards", folder=folder)
    refused(["unshard", *parts, parts[0], folder / "part.npy"], "is there twice", folder=folder)
    parts[2].rename(folder / "ten.npy")  # names of another kind: as they are given
    succeeds("unshard", folder / "ten.npy", parts[0], folder / "two.npy")
    check(read_npy(folder / "two.npy")[1] == bytes([10, 0]), "in the given order")
    for name in ("nameless", "a.folder/nameless"):
        refused(["shard", folder / "m.safetensors", name, "--tp", 2], f"{name}-rank-0-of-2: expected a name that ends with", folder=folder)
    refused(["shard", folder / "m.safetensors", folder / "q.safetensors", "--tp", 3, "--dim", 0], "equal parts", folder=folder)
    index = {"metadata": {"total_size": 1}, "weight_map": {"w": "m.safetensors", "b": "m.safetensors"}}
    (folder / "m.safetensors.index.json").write_text(json.dumps(index))
    check("2 tensors" in succeeds("info", folder / "m.safetensors.index.json"), "sharded index")
    for wrong, text in (("../m.safetensors", "beside the index"), ("nowhere.safetensors", "No such file")):
        index["weight_map"]["w"] = wrong
        (folder / "w.safetensors.index.json").write_text(json.dumps(index))
        refused(["info", folder / "w.safetensors.index.json"], text)


def out_of_memory_sizes(folder):
    """More than the memory: the same bytes, whatever the pieces."""
    rows, columns = 300, 257
    data = bytes((r * 7 + c * 13 + c // 256) & 255 for r in range(rows) for c in range(columns))
    (folder / "l.npy").write_bytes(plain_npy("|u1", (rows, columns), data))
    transposed = bytes(data[r * columns + c] for c in range(columns) for r in range(rows))
    strided = b"".join(data[r * columns:(r + 1) * columns][::-3] for r in range(0, rows, 2))
    repeated = bytes(v for v in data for _ in range(3))
    for memory in ("64", "1000", "20K", "1M"):
        for words, expected in ((("rearrange", "r c -> c r"), transposed), (("slice", "::2, ::-3"), strided),
                                (("rearrange", "r c -> r c 3"), repeated)):
            succeeds(words[0], folder / "l.npy", folder / "o.npy", words[1], "--memory", memory, "--replace")
            check(read_npy(folder / "o.npy")[1] == expected, words, memory)
    refused(["convert", folder / "l.npy", folder / "o2.npy", "--memory", "1"], "too small", folder=folder)


def main():
    for test in (bad_npy, bad_safetensors, checkpoint, names, there_and_back, shards, out_of_memory_sizes):
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
            test(pathlib.Path(name))
    print("\n".join(failures) or "files are read, written and refused as they should be")
    return 1 if failures else 0


sys.exit(main())
