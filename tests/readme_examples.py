"""Compiles and runs the programs of the README and of docs/tensors.md against the built library."""
import pathlib
import re
import subprocess
import sys

# The page, its only program's language, and what that prints.
PROGRAMS = [
    ("README.md", "c", "1 4 2 5 3 6"),
    ("README.md", "cpp", "4, 16"),
    ("docs/tensors.md", "cpp", "[4, 48, 48]"),
]


def program_in(page, language):
    blocks = re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)
    programs = [block for block in blocks if "int main" in block]
    if len(programs) != 1:
        sys.exit(f"{page} has {len(programs)} {language} programs, expected 1")
    return programs[0]


def main(root, library, include, scratch, cc, cxx, flags):
    library, scratch = pathlib.Path(library), pathlib.Path(scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    for page, language, expected in PROGRAMS:
        compiler, standard = (cc, "-std=c99") if language == "c" else (cxx, "-std=c++17")
        program = scratch / f"{pathlib.Path(page).stem}_{language}"
        source = program.with_suffix("." + language)
        source.write_text(program_in(pathlib.Path(root) / page, language))
        subprocess.run([compiler, standard, "-Wall", *flags.split(), f"-I{include}", str(source),
                        f"-L{library.parent}", "-linfini", f"-Wl,-rpath,{library.parent}",
                        "-o", str(program)], check=True)
        output = subprocess.run([str(program)], check=True, text=True, stdout=subprocess.PIPE).stdout
        print(output)
        if expected not in output:
            sys.exit(f"expected {expected!r} in the output of {page}'s {language} program")


main(*sys.argv[1:])
