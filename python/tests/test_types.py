"""The stub and the extension have the same names and the same words."""
import ast
import inspect
import pathlib

import infini
from infini import _core

STUB = ast.parse((pathlib.Path(__file__).parents[1] / "infini" / "_core.pyi").read_text())
PYTHON = {"DType", "Distribution", "FileTensor", "Plan", "TensorFile", "concat", "convert", "open", "pack", "pad", "plan", "product_plan", "repeat", "reshard_plan",
          "stack", "unpack"}  # not of the extension
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def described(body):
    """Names to docstrings; of overloads the first counts."""
    names = {}
    for node in body:
        if isinstance(node, DEFINITIONS):
            names.setdefault(node.name, ast.get_docstring(node))
    return names


def members(owner):
    special = {"__len__", "__array__", "__getitem__", "__setitem__", "__matmul__", "__dlpack__", "__dlpack_device__", "__enter__", "__exit__",
               "__bool__", "__float__", "__int__", "__complex__", "__eq__", "__ne__", "__hash__", "__contains__", "__iter__"}
    return {name for name in vars(owner) if not name.startswith("_") or name in special}


def same_words(stub, object_):
    found = inspect.getdoc(object_) or ""
    return stub is None or found.endswith(inspect.cleandoc(stub))  # nanobind puts the signature first


def test_module():
    names = described(STUB.body)
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert {name for name in names if not name.startswith("_")} == public == set(infini.__all__) - PYTHON
    for name in public:
        assert same_words(names[name], getattr(_core, name)), name


def test_classes():
    for node in STUB.body:
        if isinstance(node, ast.ClassDef) and node.name in ("Tensor", "Graph", "Recording"):
            owner = getattr(_core, node.name)
            names = described(node.body)
            assert {name for name in names if name != "_from_bytes"} == members(owner), node.name
            for name, words in names.items():
                assert same_words(words, inspect.getattr_static(owner, name)), name
