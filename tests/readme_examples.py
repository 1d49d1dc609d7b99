"""Compiles and runs the C and C++ examples of the README against the built library."""
import pathlib
import re
import subprocess
import sys


def main(readme, library, include, scratch, cc, cxx, flags):
    text = pathlib.Path(readme).read_text()
    library = pathlib.Path(library)
    scratch = pathlib.Path(scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    expected = {"c": "1 4 2 5 3 6", "cpp": "4, 16"}
    for language, compiler, standard in (("c", cc, "-std=c99"), ("cpp", cxx, "-std=c++17")):
        blocks = re.findall(rf"```{language}\n(.*?)```", text, re.S)
        programs = [block for block in blocks if "int main" in block]
        if len(programs) != 1:
            print(f"README has {len(programs)} {language} programs, expected 1")
            return 1
        source, program = scratch / f"example.{language}", scratch / f"example_{language}"
        source.write_text(programs[0])
        subprocess.run([compiler, standard, "-Wall", *flags.split(), f"-I{include}", str(source),
                        f"-L{library.parent}", "-linfini", f"-Wl,-rpath,{library.parent}",
                        "-o", str(program)], check=True)
        output = subprocess.run([str(program)], check=True, text=True, stdout=subprocess.PIPE).stdout
        print(output)
        if expected[language] not in output:
            print(f"expected {expected[language]!r} in the {language} example's output")
            return 1
    return 0


sys.exit(main(*sys.argv[1:]))
