"""Doxygen's input filter: our plain comments as the ones that it reads. The first one is the file's. What stands above a
declaration documents it and those that follow without an empty line; what stands behind one on its line documents that. A
header about one operator says at its top what all of its functions are for."""
import re
import sys

COMMENT = ("//", "/*", "*", " *")
NO_DECLARATION = re.compile(r"^\s*(#(?!define \w+ \S)|}|public:|private:|protected:|namespace |extern \"C\"|//|/\*|\*)")


def as_doxygen(line, first):
    file = "@file\n/// " if first else ""
    if line.lstrip().startswith("/*"):
        return line.replace("/*", "/** @file" if first else "/**", 1)
    return line.replace("//", "/// " + file if first else "///", 1)


def behind(line):
    """A comment behind a declaration."""
    if re.search(r"\S\s+// ", line) and "://" not in line:
        return re.sub(r"// ", "///< ", line, count=1)
    if re.search(r"\S\s*/\* .*\*/\s*$", line):
        return re.sub(r"/\* ", "/**< ", line, count=1)
    return line


def lines_of(text, one_operator):
    comment, inside, ended, first = [], False, True, True  # the group's comment; in a /* */; the last statement is whole
    continued = False
    top, fresh = re.match(r"/\*.*?\*/", text, re.S), False
    whole = ["/**" + top[0][2:]] if top and one_operator else []
    for line in text.split("\n"):
        stripped = line.strip()
        if inside or stripped.startswith(("//", "/*")):
            if not inside and not (comment and comment[-1].lstrip().startswith("///") and fresh):
                comment = []
            starts = not inside
            inside = "*/" not in line if inside or stripped.startswith("/*") else False
            made = as_doxygen(line, first) if starts else line
            first = False
            comment.append(made)
            fresh = True
            yield made
            continue
        if not stripped:
            comment, fresh, ended = whole, False, True
            yield line
            continue
        if line.endswith("\\") or continued:  # a macro of several lines
            continued, fresh, ended = line.endswith("\\"), False, True
            yield line
            continue
        opened = re.match(r"(.*\{)\s+(?://|/\*) (.*?)(?: \*/)?$", line)  # behind the brace that opens a type
        if opened:
            yield "/// " + opened[2]
            line = opened[1]
        documented = behind(line)
        if comment and not fresh and ended and documented == line and not NO_DECLARATION.match(line):
            yield from comment
        fresh = False
        ended = line.rstrip().endswith((";", "}", "{", ":")) or documented != line or stripped.startswith("#")
        yield documented


print("\n".join(lines_of(open(sys.argv[1], encoding="utf-8").read(), "infiniop/ops/" in sys.argv[1])))
