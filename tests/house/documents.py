"""The documents: links lead somewhere, tables name what the code has, and every block of code runs or says why not.

In README.md, SECURITY.md and docs/*.md each fenced block is one of
    ```c, ```cpp    a program with main(), compiled and run; a ```text block right below is what it prints
    ```python       run in order with the page's other ones, where the Python package is built
    ```sh           commands, run in a scratch folder with the tool in PATH; measurements are shortened
    ```text         no code: output, grammar, pictures
or has above it a line <!-- not run: the reason -->.
"""
import os
import pathlib
import re
import subprocess
import sys

# Pages whose blocks are not run as they stand, and why.
FRAGMENTS = {
    "docs/python.md": "fragments, also for a GPU; python/tests has each of them as a test",
    "docs/plans.md": "excerpts of the sources",
    "docs/extending.md": "excerpts of a backend that is to be written",
    "docs/emulators.md": "about programs inside the build folder",
    "docs/architecture.md": "pictures",
    "docs/migration.md": "about other repositories",
}
MEASURED = "benchmarks"  # docs/benchmarks*.md: records with the commands of their day
FENCE = re.compile(r"(<!-- not run: [^\n]+ -->\n)?^```([^\n]*)\n(.*?)^```$", re.S | re.M)


def pages(root):
    return [root / "README.md", root / "SECURITY.md", *sorted((root / "docs").glob("*.md"))]


class Runner:
    def __init__(self, library, tool, include, scratch, cc, cxx, flags, python):
        self.library, self.include, self.flags = pathlib.Path(library), include, flags.split()
        self.cc, self.cxx, self.python, self.count = cc, cxx, python, 0
        self.scratch = pathlib.Path(scratch)
        self.scratch.mkdir(parents=True, exist_ok=True)
        shim = f'#!/bin/sh\ncase "$1" in bench) shift; exec "{tool}" bench --milliseconds 5 "$@";; esac\nexec "{tool}" "$@"\n'
        for name in ("infini", "run"):
            (self.scratch / name).write_text(shim)
            (self.scratch / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}"}

    def run(self, command, what):
        done = subprocess.run(command, cwd=self.scratch, env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"{what}:\n{done.stdout}")
        return done.stdout

    def program(self, language, text, expected, what):
        compiler, standard = (self.cc, "-std=c99") if language == "c" else (self.cxx, "-std=c++17")
        self.count += 1
        program = self.scratch / f"program{self.count}"
        source = program.with_suffix("." + language)
        source.write_text(text)
        self.run([compiler, standard, "-Wall", "-Wextra", "-Werror", *self.flags, f"-I{self.include}", str(source), f"-L{self.library.parent}",
                  "-linfini", f"-Wl,-rpath,{self.library.parent}", "-o", str(program)], what)
        output = self.run([str(program)], what)
        if expected is not None and output.split() != expected.split():
            sys.exit(f"{what} prints\n{output}\nand the page says\n{expected}")

    def page(self, root, page):
        name = str(page.relative_to(root))
        if name in FRAGMENTS or page.name.startswith(MEASURED):
            return
        text = page.read_text()
        blocks = list(FENCE.finditer(text))
        if text.count("```") != 2 * len(blocks):
            sys.exit(f"{name}: a fenced block is not closed, or not at the start of a line")
        scripts = []
        for block, after in zip(blocks, blocks[1:] + [None]):
            excused, language, code = block.groups()
            line = text[:block.start()].count("\n") + 1
            what = f"{name}:{line}"
            if excused or language == "text":
                continue
            if language in ("c", "cpp"):
                below = after is not None and after.start() == block.end() + 1 and after[2] == "text"
                self.program(language, code, after[3] if below else None, what)
            elif language == "python":
                scripts.append(code)
            elif language == "sh":
                self.run(["sh", "-e", "-c", code], what)
            else:
                sys.exit(f"{what}: a block of {language or 'no language'} is neither run nor marked <!-- not run: why -->")
        if scripts and self.python:
            self.run([self.python, "-c", "\n".join(scripts)], name)
        print(f"{name}: {len(blocks)} blocks" + ("" if self.python or not scripts else ", those in Python not run: no package here"))


def check_links(root):
    for page in [*pages(root), root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*/*.md"))]:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                sys.exit(f"{page.relative_to(root)} links to {target}, which is not there")
            if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
                sys.exit(f"{page.relative_to(root)} links to {target}; that page has no such heading")


def anchors(text):
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def difference(what, code, page):
    if code != page:
        sys.exit(f"{what}: in the code alone {sorted(code - page)}, in docs/build.md alone {sorted(page - code)}")


def check_tables(root):
    """docs/build.md names every option of the build and every variable of the environment."""
    text = (root / "docs/build.md").read_text()
    options, variables = (re.search(rf"^## {title}$(.*?)(?=^## |\Z)", text, re.S | re.M)[1] for title in ("CMake options", "Environment variables"))
    scripts = "\n".join(file.read_text() for file in [*root.glob("cmake/*.cmake"), *root.glob("src/**/CMakeLists.txt"), *root.glob("*/CMakeLists.txt")])
    difference("options", set(re.findall(r"^\s*(?:option|set)\((INFINI_\w+)(?: [^)]*CACHE| \")", scripts, re.M)),
               set(re.findall(r"^\| `(INFINI_\w+)`", options, re.M)))
    known = re.search(r"known\[\] = \{(.*?)\};", (root / "src/base/environment.cpp").read_text(), re.S)[1]
    difference("environment", set(re.findall(r'"(INFINI_\w+)"', known)),
               set(re.findall(r"`(INFINI_\w+)`", "\n".join(line.split("|")[1] for line in variables.splitlines() if line.startswith("| `INFINI")))))


def main(root, *arguments):
    root = pathlib.Path(root)
    check_links(root)
    check_tables(root)
    runner = Runner(*arguments)
    for page in pages(root):
        runner.page(root, page)


main(*sys.argv[1:])
