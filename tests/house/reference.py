"""The API reference: Doxygen reads every public header, and finds a comment for every function, type and macro in it.
Plain fields of structures are told by the comment of their structure."""
import pathlib
import shutil
import subprocess
import sys


def main(root, scratch):
    program = shutil.which("doxygen")
    if not program:
        print("SKIPPED: no doxygen here")
        return 0
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    settings = (pathlib.Path(root) / "docs/Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {scratch}\nGENERATE_HTML = NO\nGENERATE_XML = YES\n"
    done = subprocess.run([program, "-"], input=settings, cwd=root, text=True, capture_output=True)
    missing = [line for line in done.stderr.splitlines() if line.strip() and "(variable) of struct" not in line]
    print("\n".join(missing))
    pages = len(list((scratch / "xml").glob("*.xml")))
    print(f"{pages} pages")
    return 1 if done.returncode or missing or pages < 50 else 0


sys.exit(main(*sys.argv[1:]))
