"""Files whose elements are put in order on a device: the same bytes as on the CPU, and it was the device that did it."""
import os
import pathlib
import random
import struct
import sys
import tempfile

from tensor_files import Tool, check, failures, safetensors, tensor

TOOL = Tool(sys.argv[1])
SHAPE = (6, 5, 4, 14)
JOBS = [["rearrange", 'a b c d -> d b a c'], ["rearrange", "a b c (d e) -> d a (c b) e", "e=2"],
        ["rearrange", "a b c d -> d b a c", "--dtype", "bf16"], ["convert", "--dtype", "f16"],
        ["convert", "--dtype", "f8_e5m2"], ["convert", "--dtype", "i32"], ["slice", "::-2, :, 1, ::-3", "--dtype", "f64"]]


def main():
    device = sys.argv[3]
    random.seed(7)
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
        folder = pathlib.Path(name)
        count = SHAPE[0] * SHAPE[1] * SHAPE[2] * SHAPE[3]
        data = struct.pack(f"<{count}f", *(random.uniform(-300, 300) for _ in range(count)))
        (folder / "x.safetensors").write_bytes(safetensors(
            {"x": tensor("F32", list(SHAPE), 0, 4 * count), "y": tensor("U8", [3], 4 * count, 4 * count + 3)}, data + b"abc"))
        for command, *words in JOBS:
            for memory in ("3000", "1M"):
                made = []
                for at in ("cpu", device):
                    log, out = folder / f"{at}.log", folder / f"{at}.safetensors"
                    log.unlink(missing_ok=True)
                    TOOL.succeeds(command, folder / "x.safetensors", out, *words, "--tensor", "x", "--memory", memory,
                                  "--replace", "--device", at, env={**os.environ, "INFINI_VERBOSE": str(log)})
                    made.append(out.read_bytes())
                    check(f"infini: {at}:0 " in log.read_text(), command, words, "is not done by", at)
                check(made[0] == made[1], command, words, memory, "has other bytes on", device)
        for wrong, text in ((f"{device}:99", "device"), ("nosuch", "nosuch")):
            TOOL.refused(["convert", folder / "x.safetensors", folder / "z.safetensors", "--device", wrong], text, folder=folder)
    print("\n".join(failures) or f"files are put in order on {device}")
    return 1 if failures else 0


sys.exit(main())
