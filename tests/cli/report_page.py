"""`infini bench --report`: one page without network that gathers measurements, drawn by a real browser where there is one."""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REARRANGES = ["rearrange f32 64x64 perm=1,0", "rearrange f16 32x16x8 perm=2,0,1"]
PRODUCTS = ["gemm f32 m=32 n=32 k=32", "gemm f64 m=1 n=64 k=64"]


class Addresses(html.parser.HTMLParser):
    """What the page would load from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("src", "href")]


def bench(tool, page, *arguments):
    return subprocess.run([tool, "bench", "--milliseconds", "5", "--report", str(page), *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def reports(page):
    return json.loads(re.search(r'id="reports">(.*?)</script>', page.read_text(), re.S)[1])


def drawn(browser, page, scratch):
    """The page's document after its script has run; its errors would be in the browser's log."""
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           f"--user-data-dir={scratch}/profile", "--virtual-time-budget=5000", "--enable-logging=stderr",
                           "--dump-dom", page.as_uri()], text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, "\n".join(errors)
    return done.stdout


def main(tool):
    with tempfile.TemporaryDirectory() as scratch:
        page = pathlib.Path(scratch, "out.html")
        for arguments in (REARRANGES, PRODUCTS, ["--regret", *REARRANGES], REARRANGES):
            done = bench(tool, page, *arguments)
            assert done.returncode == 0, done.stdout
        kinds = [(report["command"], len(report["rows"])) for report in reports(page)]
        assert kinds == [("bench", 2), ("regret", 2), ("bench", 2)], f"the same work again is not kept twice: {kinds}"
        assert all(report["machine"]["threads"] > 0 and report["asked"] for report in reports(page))

        addresses = Addresses()
        addresses.feed(page.read_text())
        assert not addresses.found, f"the page loads {addresses.found}"
        assert "http" not in page.read_text().replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")

        other = pathlib.Path(scratch, "thesis.html")
        other.write_text("<p>years of work</p>")
        refused = bench(tool, other, *REARRANGES)
        assert refused.returncode != 0 and "no report" in refused.stdout, refused.stdout
        assert other.read_text() == "<p>years of work</p>"

        browser = shutil.which("chromium") or shutil.which("google-chrome")
        if not browser:
            print("no Chromium here: the page was read, not drawn")
            return
        document = drawn(browser, page, scratch)
        for words, least in (("<svg", 6), ("<rect", 6), ("<circle", 10), ("<polyline", 3), ("Roofline", 1), ("Bandwidth over size", 1)):
            assert document.count(words) >= least, f"{document.count(words)} of {words}, expected {least}"
        for points in re.findall(r'<polyline[^>]*points="([^"]*)"', document):
            reach = [float(point.split(",")[0]) for point in points.split()]
            assert max(reach) - min(reach) > 50, f"a roof that nobody sees: {points}"
        print(f"drawn by {browser}")


main(*sys.argv[1:])
