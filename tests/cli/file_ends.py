"""Jobs on files that must end well whatever happens: places that are taken, full disks, failing calls, files that change, Ctrl-C."""
import ctypes
import fcntl
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from tensor_files import Tool, check, failures, npy, plain_npy, read_npy, read_safetensors, safetensors, tensor

TOOL = Tool(sys.argv[1])
FAILING_CALLS, SANITIZE = sys.argv[3], sys.argv[4]
succeeds, refused = TOOL.succeeds, TOOL.refused


def places(folder):
    source, data = folder / "i.npy", plain_npy("<f4", (4,), bytes(16))
    source.write_bytes(data)
    (folder / "there.npy").write_bytes(b"precious")
    os.symlink(source, folder / "link.npy")
    os.link(source, folder / "hard.npy")
    os.symlink("nothing", folder / "dangling.npy")
    os.mkdir(folder / "folder.npy")
    os.mkfifo(folder / "pipe.npy")
    for name, text in (("i.npy", "is the input"), ("link.npy", "is the input"), ("hard.npy", "is the input"),
                       ("there.npy", "exists already"), ("folder.npy", "is a folder"), ("pipe.npy", "no regular file"),
                       ("dangling.npy", "symbolic link"), ("none/x.npy", "No such file")):
        refused(["convert", source, folder / name], text, folder=folder)
        if name not in ("there.npy",):
            refused(["convert", source, folder / name, "--replace"], text, folder=folder)
    check((folder / "there.npy").read_bytes() == b"precious" and source.read_bytes() == data, "nothing was lost")
    refused(["info", folder / "folder.npy"], "is a folder")
    refused(["info", folder / "pipe.npy"], "no regular file")
    refused(["info", folder / "x.txt"], "expected a name that ends with")
    refused(["info", folder / "x.npy"], "No such file")
    refused(["convert", source, folder / "x.npz"], "can only be read", folder=folder)
    refused(["rearrange", source, folder / "x.npy", "a b -> b a"], "pattern", folder=folder)
    refused(["slice", source, folder / "x.npy", "7"], "is not in dim 0", folder=folder)
    refused(["slice", source, folder / "x.npy", "::0"], "step of 0", folder=folder)
    refused(["convert", source, folder / "x.npy", "--tensor", "nobody"], "has no tensor", folder=folder)
    refused(["convert", source, folder / "x.npy", "--dtype", "f33"], "no element type", folder=folder)
    refused(["convert", source, folder / "x.npy", "--memory", "lots"], "--memory", folder=folder)
    succeeds("convert", source, folder / "there.npy", "--replace")
    check((folder / "there.npy").read_bytes()[-16:] == bytes(16), "--replace")
    succeeds("convert", folder / "link.npy", folder / "of_link.npy")
    check((folder / "of_link.npy").read_bytes()[-16:] == bytes(16), "a symbolic link is read")
    refused(["convert", source, "/sys/x.npy"], "/sys/x.npy: cannot create")  # read-only, for root too
    if os.geteuid() != 0:
        os.mkdir(folder / "closed", 0o555)
        refused(["convert", source, folder / "closed" / "x.npy"], "Permission denied")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([TOOL.path, "info", source], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 2 and "cannot write standard output" in done.stderr, "info > /dev/full", done)
    os.symlink("/dev/full", folder / "full.npy")
    for more in ([], ["--replace"]):
        refused(["convert", source, folder / "full.npy", *more], "symbolic link", folder=folder)


def full_disk(folder):
    """What cannot fit is refused before a byte moves; so is what exceeds a limit of the process."""
    source = folder / "a.npy"
    source.write_bytes(plain_npy("|u1", (1 << 40, 8)))
    os.truncate(source, source.stat().st_size + (1 << 43))  # 8 TB, sparse
    refused(["convert", source, folder / "b.npy"], "bytes; the disk has", folder=folder)
    source.write_bytes(plain_npy("|u1", (1 << 20,), bytes(1 << 20)))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))
    refused(["convert", source, folder / "b.npy"], "File too large", folder=folder, preexec_fn=limit)
    # A disk of 1 MB, where a name space may be made.
    script = 'mount -t tmpfs -o size=1M none "$1/disk" && shift && "$@"; status=$?; ls "$0"; exit $status'
    (folder / "disk").mkdir()
    words = [str(folder / "disk"), str(folder), TOOL.path, "convert", str(source), str(folder / "disk" / "b.npy")]
    done = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", script, *words], text=True,
                          capture_output=True, check=False) if shutil.which("unshare") else None
    if done is None or done.returncode in (1, 32):  # no name spaces or no mount here
        return
    check(done.returncode == 2 and "the disk has" in done.stderr and not done.stdout, "tmpfs:", done)


def failing_calls(folder):
    """The n-th call that writes fails, for every n: one line, nothing new, nothing lost."""
    if SANITIZE:
        return
    source = folder / "a.safetensors"
    data = bytes(range(256)) * 16
    source.write_bytes(safetensors({"w": tensor("U8", [64, 64], 0, 4096)}, data))
    told, out = folder / "told", folder / "out"
    out.mkdir()
    jobs = (["shard", source, out / "s.safetensors", "--tp", "2", "--dim", "1"],
            ["convert", source, out / "c.safetensors", "--replace"])
    for job in jobs:
        for number in range(1, 200):
            kept = out / "c.safetensors"
            kept.write_bytes(b"precious")
            environment = {**os.environ, "LD_PRELOAD": FAILING_CALLS, "FAIL_CALL": str(number), "FAIL_TOLD": str(told)}
            done = TOOL.run(*job, env=environment)
            failed = told.exists()
            told.unlink(missing_ok=True)
            names = sorted(os.listdir(out))
            if done.returncode == 0:
                parts = [read_safetensors(out / name)["w"][2] for name in names if name != "c.safetensors"]
                check(len(names) == (3 if job is jobs[0] else 1) and (job is jobs[1] or len(parts[0]) == 2048), job, number, names)
                check(job is jobs[0] or read_safetensors(kept)["w"][2] == data, "the bytes of", job)
            else:
                check(failed and done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "No space left" in done.stderr,
                      job, "call", number, done)
                check(names == ["c.safetensors"] and kept.read_bytes() == b"precious", job, "call", number, "left", names)
            for name in names:
                (out / name).unlink()
            if not failed:
                check(done.returncode == 0 and number > 4, job, "without a failing call", number, done)
                break
        else:
            check(False, job, "never passes")


def sparse_source(folder):
    source = folder / "sparse.npy"
    source.write_bytes(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (65536, 32768), }\n"))
    os.truncate(source, source.stat().st_size + (1 << 31))
    return source


def started(folder, *words):
    """A job of 2 GB that has begun to write."""
    before = sorted(os.listdir(folder))
    job = subprocess.Popen([TOOL.path, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(1000):
        if sorted(os.listdir(folder)) != before:
            break
        time.sleep(0.01)
    check(sorted(os.listdir(folder)) != before, "the job began")
    return job


def interrupted(folder):
    """Nothing new is left, and no file of a name that was there is lost."""
    source = sparse_source(folder)
    (folder / "there.npy").write_bytes(b"precious")
    before = sorted(os.listdir(folder))
    for number, out in ((signal.SIGINT, ["out.npy"]), (signal.SIGTERM, ["there.npy", "--replace"])):
        job = started(folder, "rearrange", source, folder / out[0], "a b -> b a", "--memory", "4M", *out[1:])
        job.send_signal(number)
        _, errors = job.communicate(timeout=60)
        check(job.returncode == -number and not errors, "interrupted:", job.returncode, errors)
        check(sorted(os.listdir(folder)) == before, "an interrupt left", os.listdir(folder))
    check((folder / "there.npy").read_bytes() == b"precious", "an interrupt lost what was there")


def truncated(folder):
    """A source that becomes shorter while it is read, in long pieces and in many short ones."""
    for words in (["rearrange", "a b -> b a"], ["slice", ":, 7:8"]):
        source = sparse_source(folder)
        before = sorted(os.listdir(folder))
        job = started(folder, words[0], source, folder / "out.npy", words[1], "--memory", "64K")
        os.truncate(source, 100000)
        _, errors = job.communicate(timeout=60)
        check(job.returncode == 2 and len(errors.splitlines()) == 1 and "bytes too early" in errors, words, job.returncode, errors)
        check(sorted(os.listdir(folder)) == before, "a truncated source left", os.listdir(folder))


def without_io_uring():
    """In a child that is about to become the tool: io_uring_setup (425 on every architecture) is forbidden from here on."""
    def rule(code, yes, no, value):
        return struct.pack("HBBI", code, yes, no, value)
    rules = rule(0x20, 0, 0, 0) + rule(0x15, 0, 1, 425) + rule(0x06, 0, 0, 0x00050001) + rule(0x06, 0, 0, 0x7FFF0000)
    kept = ctypes.create_string_buffer(rules, len(rules))
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        os._exit(77)


def many_short_reads(folder):
    """A narrow part of cold rows: through io_uring, where it is refused, and where it is switched off."""
    rows, row = 500, 40000
    data = os.urandom(rows * row)
    expected = b"".join(data[r * row + 100:r * row + 203] for r in range(rows))
    for how in ({}, {"preexec_fn": without_io_uring}, {"env": {**os.environ, "INFINI_IO_URING": "0"}}):
        with open(folder / "a.npy", "wb") as file:
            file.write(plain_npy("|u1", (rows, row), data))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        done = TOOL.run("slice", folder / "a.npy", folder / "b.npy", ":, 100:203", "--replace", **how)
        if done.returncode == 77:  # no filters here
            continue
        check(done.returncode == 0 and not done.stderr, how, done)
        check(read_npy(folder / "b.npy")[1] == expected, "short reads", how)


def beyond_4_gib(folder):
    """Places of more than 32 bits, in sparse files; a part is read without the rest."""
    rows, row = 5 << 20, 1 << 10
    head = plain_npy("<u2", (rows, row // 2))
    (folder / "big.npy").write_bytes(head)
    header = {"a": tensor("U8", [rows, row], 0, rows * row), "b": tensor("U16", [2], rows * row, rows * row + 4)}
    text = safetensors(header)
    (folder / "big.safetensors").write_bytes(text)
    for name, begin, size in (("big.npy", len(head), 0), ("big.safetensors", len(text), 4)):
        os.truncate(folder / name, begin + rows * row + size)
        with open(folder / name, "r+b") as file:
            file.seek(begin + (rows - 1) * row)
            file.write(struct.pack("<512H", *range(512)))
            if size:
                file.write(b"\1\2\3\4")
    succeeds("slice", folder / "big.npy", folder / "out.npy", "-2:, ::-100", "--memory", "1M")
    check(read_npy(folder / "out.npy")[1] == bytes(12) + struct.pack("<6H", *range(511, 0, -100)), "past 4 GiB")
    succeeds("slice", folder / "big.npy", folder / "out.npy", "::1048576, 5:9", "--memory", "64K", "--replace")
    check(read_npy(folder / "out.npy")[1] == bytes(5 * 8), "rows far apart")
    succeeds("convert", folder / "big.safetensors", folder / "b.npy", "--tensor", "b")
    check(read_npy(folder / "b.npy")[1] == b"\1\2\3\4", "a tensor past 4 GiB")


def on_a_terminal(folder):
    """The progress line fits into the terminal and is wiped at the end; a pipe sees nothing (succeeds() looks)."""
    source = folder / "a.npy"
    source.write_bytes(plain_npy("|u1", (4096, 4096), bytes(4096 * 4096)))
    for columns in (80, 30):
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        job = subprocess.Popen([TOOL.path, "rearrange", source, folder / "b.npy", "a b -> b a", "--memory", "1M", "--replace"],
                               stderr=its, stdout=subprocess.PIPE)
        os.close(its)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # the other side is closed
            pass
        check(job.wait(60) == 0, "on a terminal")
        lines = [re.sub(r"\x1b\[K", "", line) for line in seen.decode().split("\r")]
        check(len(lines) > 2 and max(map(len, lines)) < columns + 10 * (columns < 40) and lines[-1] == "", columns, lines[-3:])
        check("flushing" in lines[-2] and "100.0 %" in lines[-2] and b"\n" not in seen, "the last line", lines[-2:])


def main():
    for test in (places, full_disk, failing_calls, interrupted, truncated, many_short_reads, beyond_4_gib, on_a_terminal):
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
            test(pathlib.Path(name))
    print("\n".join(failures) or "every job on files ends as it should")
    return 1 if failures else 0


sys.exit(main())
