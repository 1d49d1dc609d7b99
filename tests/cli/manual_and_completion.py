"""The manual page names every option and variable that the tool's help does, and completion offers what there is."""
import pathlib
import re
import shutil
import subprocess
import sys


def run(*words, **how):
    return subprocess.run(words, text=True, capture_output=True, check=False, **how).stdout


def manual_mismatches(tool, page):
    text = page.read_text().replace("\\-", "-").replace("\\fR", "")
    for topic in ("devices", "plan", "check", "bench", "reshard", "info", "convert", "shard", "unshard", "environment"):
        for name in re.findall(r"^  (--[a-z-]+|INFINI_[A-Z0-9_]+)", run(tool, "help", topic), re.M):
            if name not in text:
                yield f"the manual page does not know {name} of `infini help {topic}`"
    if shutil.which("groff"):
        result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", page], text=True, capture_output=True, check=False)
        if result.stderr:
            yield f"groff: {result.stderr}"


COMPLETIONS = [  # words, the last of which is completed, and what must be offered
    (["pl"], ["plan"]),
    (["help", "pr"], ["problems"]),
    (["bench", "cpu_m"], ["cpu_medium"]),
    (["bench", "--mil"], ["--milliseconds"]),
    (["check", "--device", "nv"], ["nvidia"]),
    (["check", "--op", "ge"], ["gemm", "gelu"]),
    (["plan", "rms_norm", "bf16", "8x16", "eps"], ["epsilon="]),
    (["plan", "rearrange", "bf"], ["bf16"]),
    (["plan", "rearrange", "f32", "2x3", "pe"], ["perm="]),
    (["plan", "gemm", "f32", "m=3", "al"], ["alpha="]),
    (["bench", "--json", ""], []),
    (["nosuch", ""], []),
]


def completion_mismatches(tool):
    for words, expected in COMPLETIONS:
        found = run(tool, "complete", *words).split()
        if found != expected:
            yield f"complete {words}: {found}, expected {expected}"


def shell_mismatches(tool, scripts):
    """bash in earnest; zsh and fish, where they are, at least read their scripts."""
    ask = 'source "$1"; COMP_WORDS=("$2" bench --mil); COMP_CWORD=2; _infini; echo "${COMPREPLY[@]}"'
    found = run("bash", "-c", ask, "bash", scripts / "infini.bash", tool).split()
    if found != ["--milliseconds"]:
        yield f"bash completes {found}"
    for shell, script in (("zsh", "_infini"), ("fish", "infini.fish")):
        if shutil.which(shell):
            result = subprocess.run([shell, "-n", scripts / script], text=True, capture_output=True, check=False)
            if result.returncode != 0:
                yield f"{shell}: {result.stderr}"


def main(tool, page, scripts):
    wrong = [*manual_mismatches(tool, pathlib.Path(page)), *completion_mismatches(tool),
             *shell_mismatches(tool, pathlib.Path(scripts))]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
