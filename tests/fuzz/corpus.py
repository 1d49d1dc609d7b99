"""Seed corpora as text: tests/fuzz/corpus/TARGET.txt has one input per line, in hexadecimal or, where targets read text, as it is.

    corpus.py unpack TARGET FOLDER    writes each line into a file of its own
    corpus.py pack TARGET FOLDER      writes the folder's files into the corpus, shortest first
"""
import hashlib
import pathlib
import sys

PLAIN = {"text"}
MOST_BYTES = 100000  # of a corpus in the repository


def main(verb, target, folder):
    corpus = pathlib.Path(__file__).parent / "corpus" / f"{target}.txt"
    folder = pathlib.Path(folder)
    if verb == "unpack":
        for line in corpus.read_text().splitlines() if corpus.exists() else []:
            data = line.encode() if target in PLAIN else bytes.fromhex(line)
            (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
        return 0
    inputs = sorted((path.read_bytes() for path in folder.iterdir()), key=lambda data: (len(data), data))
    lines = []
    for data in inputs:
        try:
            line = data.decode("ascii") if target in PLAIN else data.hex()
        except UnicodeDecodeError:
            continue
        if line.isprintable() and line == line.strip():
            lines.append(line)
    # Where there are too many, every n-th: short ones and long ones.
    every = max(1, -(-sum(len(line) + 1 for line in lines) // MOST_BYTES))
    kept = lines[::every]
    used = sum(len(line) + 1 for line in kept)
    corpus.write_text("\n".join(kept) + "\n")
    print(f"{corpus}: {len(kept)} of {len(inputs)} inputs, {used} bytes")
    return 0


sys.exit(main(*sys.argv[1:]))
