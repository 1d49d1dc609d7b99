"""docs/support.md says what the code can do: every operator is created for every dtype on every device that is here.

    support_matrix.py LIBRARY PAGE            compares, for the devices that are here
    support_matrix.py LIBRARY PAGE --write    writes the page's tables (with all modules built)
"""
import ctypes
import pathlib
import re
import sys

DTYPES = ["byte", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f8", "f16", "f32", "f64",
          "c16", "c32", "c64", "c128", "bf16"]  # by number, from 1
F32, I32 = DTYPES.index("f32") + 1, DTYPES.index("i32") + 1
COUNT, ROWS, COLUMNS = 11, 4, 8  # kinds of devices; a small shape that every operator takes


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.infiniDeviceName.restype = ctypes.c_char_p

    def device_count(self, kind):
        count = ctypes.c_int(0)
        self.c.infinirtGetDeviceCount(kind, ctypes.byref(count))
        return count.value

    def name(self, kind):
        return self.c.infiniDeviceName(kind).decode()

    def handle(self, kind):
        made = ctypes.c_void_p()
        status = self.c.infiniopCreateHandleForDevice(ctypes.byref(made), kind, 0)
        assert status == 0, f"no handle for {self.name(kind)}: {status}"
        return made

    def tensor(self, dtype, *shape):
        made = ctypes.c_void_p()
        sizes = (ctypes.c_size_t * len(shape))(*shape)
        status = self.c.infiniopCreateTensorDescriptor(ctypes.byref(made), ctypes.c_size_t(len(shape)), sizes, None, dtype)
        assert status == 0, f"no tensor of dtype {dtype}: {status}"
        return made

    def can(self, operator, handle, *arguments):
        """Whether it can be created; out of memory and the like would be our mistake, not an answer."""
        made = ctypes.c_void_p()
        status = getattr(self.c, f"infiniopCreate{operator}Descriptor")(handle, ctypes.byref(made), *arguments)
        if status == 0:
            assert getattr(self.c, f"infiniopDestroy{operator}Descriptor")(made) == 0
        return status == 0


def operators(library):
    """Name and creation, for one dtype."""
    matrix = lambda dtype: library.tensor(dtype, ROWS, COLUMNS)
    unary = lambda operator: lambda handle, dtype: library.can(operator, handle, matrix(dtype), matrix(dtype))
    binary = lambda operator: lambda handle, dtype: library.can(operator, handle, matrix(dtype), matrix(dtype), matrix(dtype))
    square = lambda dtype: library.tensor(dtype, COLUMNS, COLUMNS)
    table = lambda dtype: library.tensor(dtype, ROWS, COLUMNS // 2)
    heads = lambda dtype: library.tensor(dtype, ROWS, 2, COLUMNS)
    return {
        "Rearrange": unary("Rearrange"),
        "Gemm": lambda handle, dtype: library.can("Gemm", handle, square(dtype), square(dtype), square(dtype)),
        "RMSNorm": lambda handle, dtype: library.can("RMSNorm", handle, matrix(dtype), matrix(dtype),
                                                     library.tensor(dtype, COLUMNS), ctypes.c_float(1e-6)),
        "RoPE": lambda handle, dtype: library.can("RoPE", handle, heads(dtype), heads(dtype), library.tensor(I32, ROWS),
                                                  table(dtype), table(dtype), 0),
        "CausalSoftmax": unary("CausalSoftmax"),
        "SwiGLU": binary("SwiGLU"),
        "RandomSample": lambda handle, dtype: library.can("RandomSample", handle, library.tensor(I32),
                                                          library.tensor(dtype, COLUMNS)),
        "Add": binary("Add"), "Sub": binary("Sub"), "Mul": binary("Mul"),
        "Silu": unary("Silu"), "Gelu": unary("Gelu"), "Relu": unary("Relu"), "Sigmoid": unary("Sigmoid"),
        "Convert to f32": lambda handle, dtype: library.can("Convert", handle, matrix(F32), matrix(dtype), None, None, None),
        "Cast to f32": lambda handle, dtype: library.can("Cast", handle, matrix(F32), matrix(dtype)),
    }


def matrix_of(library, kind):
    """{operator: dtypes in words}"""
    handle = library.handle(kind)
    answers = {}
    for name, create in operators(library).items():
        able = [dtype for number, dtype in enumerate(DTYPES, 1) if create(handle, number)]
        answers[name] = in_words(able)
    return answers


def in_words(able):
    words = "all" if able == DTYPES else " ".join(able) or "–"
    return words.replace("i8 i16 i32 i64 u8 u16 u32 u64", "integers").replace("f16 f32 f64 bf16", "f16 bf16 f32 f64")


def rows_of(text):
    """The page's table: {device: {operator: words}}"""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in lines[0].strip("|").split("|")][1:]
    found = {name: {} for name in names}
    for line in lines[2:]:
        operator, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        for name, cell in zip(names, cells):
            found[name][operator] = cell
    return found


def table_of(matrices):
    lines = ["| | " + " | ".join(matrices) + " |", "|---" * (len(matrices) + 1) + "|"]
    for operator in next(iter(matrices.values())):
        lines.append(f"| {operator} | " + " | ".join(matrix[operator] for matrix in matrices.values()) + " |")
    return "\n".join(lines) + "\n"


def main(path, page, *options):
    library, page = Library(path), pathlib.Path(page)
    here = {library.name(kind): matrix_of(library, kind) for kind in range(COUNT) if library.device_count(kind) > 0}
    text = page.read_text()
    begin, end = "<!-- begin: made by tests/house/support_matrix.py -->\n", "<!-- end -->"
    before, rest = text.split(begin)
    table, after = rest.split(end)
    if "--write" in options:
        page.write_text(before + begin + table_of(here) + end + after)
        return
    known, wrong = rows_of(table), 0
    for device, matrix in here.items():
        for operator, dtypes in matrix.items():
            said = known.get(device, known.get("moore", {}) if device in ("hygon", "iluvatar") else {}).get(operator)
            if said != dtypes:
                wrong += 1
                print(f"{device}, {operator}: the page says {said}, the code can {dtypes}")
    print(f"compared: {', '.join(here)}")
    sys.exit(1 if wrong else 0)


main(*sys.argv[1:])
