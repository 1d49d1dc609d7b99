"""The documents as a site: mkdocs build --strict, and no page that the navigation forgot."""
import os
import pathlib
import subprocess
import sys


def main(root, scratch, python):
    python = python or sys.executable
    if subprocess.run([python, "-c", "import material, mkdocs"], capture_output=True).returncode:
        print("SKIPPED: no mkdocs-material here")
        return 0
    done = subprocess.run([python, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", scratch], cwd=root, text=True,
                          capture_output=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    print(done.stdout + done.stderr)
    menu = (pathlib.Path(root) / "mkdocs.yml").read_text()
    forgotten = [page.name for page in (pathlib.Path(root) / "docs").glob("*.md") if page.name not in menu]
    print(f"not in mkdocs.yml's navigation: {forgotten}" if forgotten else "every page is in the navigation")
    return 1 if done.returncode or forgotten else 0


sys.exit(main(*sys.argv[1:]))
