"""Single elements of a workload's outputs, computed in double precision straight from its text: an implementation of
the language that shares nothing with Kindred, so that what a kernel wrote can be judged.

It reads what Kindred prints (one statement a line, reductions at the top of a stage) and evaluates only what an element
needs; temporaries are kept. Types narrower than f32 and complex numbers are not known: `Unsupported`.
"""

import array
import ast
import math
import random
import re

CODES = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i8": "b", "u8": "B", "bool": "B"}
START = {"sum": "0.0", "max": "-_inf", "min": "_inf", "prod": "1.0"}
STEP = {"sum": "_a + ({})", "max": "max(_a, {})", "min": "min(_a, {})", "prod": "_a * ({})"}
BLOCK = 65521  # random elements that are made; longer tensors repeat them


class Unsupported(Exception):
    pass


def _guarded(function):
    """IEEE arithmetic: infinities and NaN instead of exceptions."""

    def call(*values):
        try:
            return function(*values)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return call


def _divide(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _log(x):
    return -math.inf if x == 0 else math.log(x)


FUNCTIONS = {
    "exp": _guarded(math.exp), "log": _guarded(_log), "sqrt": _guarded(math.sqrt), "erf": math.erf, "tanh": math.tanh,
    "rsqrt": _guarded(lambda x: math.inf if x == 0 else 1 / math.sqrt(x)), "sin": _guarded(math.sin),
    "cos": _guarded(math.cos), "tan": _guarded(math.tan), "floor": _guarded(lambda x: float(math.floor(x))),
    "ceil": _guarded(lambda x: float(math.ceil(x))), "round": _guarded(lambda x: float(round(x))),
    "pow": _guarded(lambda a, b: a ** b), "abs": abs, "max": max, "min": min,
    "f32": float, "f64": float, "i64": int, "i32": int, "bool": bool, "_divide": _divide, "_inf": math.inf,
    "inf": math.inf, "nan": math.nan, "true": True, "false": False,
}


class Tensor:
    def __init__(self, name, role, dtype, shape):
        if dtype not in CODES:
            raise Unsupported(f"type {dtype}")
        self.name, self.role, self.dtype, self.shape = name, role, dtype, shape
        self.elements = math.prod(shape)
        self.strides = [math.prod(shape[d + 1:]) for d in range(len(shape))]

    def flat(self, indices):
        return sum(i * s for i, s in zip(indices, self.strides))


class _Body(ast.NodeTransformer):
    """Expressions of the language as Python's: lazy selects, guarded reads, division."""

    def __init__(self, reference):
        self.reference = reference

    def _read(self, node):
        tensor = self.reference.tensors[node.value.id if isinstance(node.value, ast.Name) else node.value.value]
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return tensor, [self.visit(index) for index in indices] if tensor.shape else []

    def _call(self, name, *arguments):
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    def visit_Subscript(self, node):
        tensor, indices = self._read(node)
        reader = "_read_" + str(self.reference.numbers[tensor.name])
        return self._call(reader, *indices)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):
            return self._call("_divide", node.left, node.right)
        return node

    def visit_Call(self, node):
        name = node.func.id
        if name == "select":
            test, then, other = map(self.visit, node.args)
            return ast.IfExp(test, then, other)
        if name == "padded":
            tensor, indices = self._read(node.args[0])
            inside = [ast.Compare(ast.Constant(0), [ast.LtE(), ast.Lt()], [index, ast.Constant(extent)])
                      for index, extent in zip(indices, tensor.shape)]
            return ast.IfExp(ast.BoolOp(ast.And(), inside), self.visit(node.args[0]), self.visit(node.args[1]))
        if name not in FUNCTIONS:
            raise Unsupported(f"function {name}")
        self.generic_visit(node)
        return node


class Reference:
    """`data`: buffers of inputs and weights by name, random, made from `seed`."""

    def __init__(self, text, seed=1):
        self.tensors, self.numbers, self.data, self.outputs = {}, {}, {}, []
        self._values, self._stages, self._ranges = {}, {}, {}
        self._namespace = dict(FUNCTIONS)
        self._bodies = []
        for line in text.splitlines():
            if line and not line.startswith(("workload ", "allow ", "#")):
                self._statement(line)
        self._fill(random.Random(seed))

    def element(self, name, flat):
        tensor = self.tensors[name]
        indices = tuple(flat // stride % extent for stride, extent in zip(tensor.strides, tensor.shape))
        return self._namespace[f"_read_{self.numbers[name]}"](*indices)

    # --- reading the text

    def _statement(self, line):
        declared = re.fullmatch(r'(input|weight) ("(?:[^"\\]|\\.)*"|\w+): (\w+)\[([^\]]*)\](?: data (\w+)\((.*)\))?', line)
        if declared:
            role, name, dtype, shape, data, bounds = declared.groups()
            if data not in (None, "index"):
                raise Unsupported(f"data {data}")
            if data:
                self._ranges[self._plain(name)] = tuple(map(int, bounds.split(",")))
            self._declare(Tensor(self._plain(name), role, dtype, [int(x) for x in shape.split(",") if x.strip()]))
            return
        stage = re.fullmatch(r'(output )?("(?:[^"\\]|\\.)*"|\w+)(?:: (\w+))?\[([^\]]*)\] = (.*)', line)
        if not stage:
            raise Unsupported(f"statement {line!r}")
        output, name, dtype, axes, body = stage.groups()
        self._stage(self._plain(name), dtype or "f32", axes, body, "output" if output else "temporary")

    @staticmethod
    def _plain(name):
        return ast.literal_eval(name) if name.startswith('"') else name

    def _declare(self, tensor):
        self.tensors[tensor.name] = tensor
        self.numbers[tensor.name] = number = len(self.numbers)
        strides = tensor.strides

        def read(*indices):
            if any(not 0 <= i < extent for i, extent in zip(indices, tensor.shape)):
                raise AssertionError(f"{tensor.name}{list(indices)} lies outside {tensor.shape}")
            flat = sum(i * s for i, s in zip(indices, strides))
            data = self.data.get(tensor.name)
            if data is not None:
                return data[flat]
            values = self._values[tensor.name]
            if flat not in values:
                values[flat] = self._stages[tensor.name](*indices)
            return values[flat]

        self._namespace[f"_read_{number}"] = read

    def _stage(self, name, dtype, axes, body, role):
        reduction = re.fullmatch(r"(sum|max|min|prod|argmax|argmin)(?:<\w+>)?\[([^\]]*)\]\((.*)\)", body)
        kind, reduced, inner = reduction.groups() if reduction else (None, "", body)
        if kind in ("argmax", "argmin"):
            raise Unsupported(kind)
        tree = ast.parse(inner.strip(), mode="eval")
        self._bodies.append(tree)
        spatial, over = self._axes(axes, tree), self._axes(reduced, tree)
        self._values[name] = {}
        code = ast.unparse(ast.fix_missing_locations(_Body(self).visit(ast.parse(inner.strip(), mode="eval"))))
        lines = [f"def _stage({', '.join(axis for axis, _ in spatial)}):"]
        if kind:
            lines.append(f" _a = {START[kind]}")
            for depth, (axis, extent) in enumerate(over):
                lines.append(" " * (depth + 1) + f"for {axis} in range({extent}):")
            lines.append(" " * (len(over) + 1) + "_a = " + STEP[kind].format(code))
            lines.append(" return _a")
        else:
            lines.append(f" return {code}")
        exec("\n".join(lines), self._namespace)  # pylint: disable=exec-used
        self._stages[name] = self._namespace.pop("_stage")
        self._declare(Tensor(name, role, dtype, [extent for _, extent in spatial]))
        if role == "output":
            self.outputs.append(name)

    def _axes(self, text, tree):
        """[(name, extent)]; an extent that is not written is that of a dimension which the axis indexes plainly."""
        found = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, extent = part.partition("=")
            found.append((name, int(extent) if extent else self._extent(name, tree)))
        return found

    def _extent(self, axis, tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript):
                tensor = self.tensors[node.value.id if isinstance(node.value, ast.Name) else node.value.value]
                indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                for index, extent in zip(indices, tensor.shape):
                    if isinstance(index, ast.Name) and index.id == axis:
                        return extent
        raise Unsupported(f"the axis {axis}, whose extent no plain index gives")

    # --- data

    def _read_in(self, tree):
        """Tensors that are read somewhere in an expression."""
        return [self.tensors[node.value.id if isinstance(node.value, ast.Name) else node.value.value]
                for node in ast.walk(tree) if isinstance(node, ast.Subscript)]

    def _fill(self, source):
        limits, positive = {}, set()  # indices are below a limit; names of divisors, arguments of roots, ...
        for body in self._bodies:
            for node in ast.walk(body):
                if isinstance(node, ast.Subscript):
                    tensor = self._read_in(node)[0]
                    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                    for index, extent in zip(indices, tensor.shape):
                        for used in self._read_in(index):
                            limits[used.name] = min(extent, limits.get(used.name, extent))
                elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                    positive.update(t.name for t in self._read_in(node.right))
                elif isinstance(node, ast.Call) and node.func.id in ("sqrt", "rsqrt", "log", "pow"):
                    positive.update(t.name for t in self._read_in(node.args[0]))
        for tensor in self.tensors.values():
            if tensor.role not in ("input", "weight"):
                continue
            count = min(BLOCK, tensor.elements)
            low, high = self._ranges.get(tensor.name, (0, limits.get(tensor.name)))
            if high is not None:
                values = [source.randrange(low, high) for _ in range(count)]
            elif tensor.dtype == "bool":
                values = [source.randrange(2) for _ in range(count)]
            elif CODES[tensor.dtype] in "fd":
                low, high = (0.5, 1.5) if tensor.name in positive else (-1, 1)
                values = [source.uniform(low, high) for _ in range(count)]
            else:
                values = [source.randrange(3) for _ in range(count)]  # small: masks scale them by the largest f32
            block = array.array(CODES[tensor.dtype], values)
            self.data[tensor.name] = (block * (tensor.elements // count + 1))[:tensor.elements] if count else block


def compare(reference, outputs, samples, seed=2):
    """What is wrong with `outputs` (arrays by name), judged by so many elements of each, the first and the last among
    them: a sentence, or "". A float may differ by 2e-4 of itself and of the sample's root mean square."""
    source = random.Random(seed)
    for name, got in outputs.items():
        places = sorted({0, len(got) - 1, *(source.randrange(len(got)) for _ in range(samples))})
        # In the output's type: what is too large for an f32 is infinite.
        wanted = array.array(got.typecode, [reference.element(name, place) for place in places])
        finite = [w for w in wanted if math.isfinite(w)]
        if not finite:
            return f"{name}: no sampled element of the reference is finite"
        scale = math.sqrt(sum(w * w for w in finite) / len(finite))
        for place, want in zip(places, wanted):
            have = got[place]
            same = have == want or (math.isnan(have) and math.isnan(want))
            if not same and not abs(have - want) <= 2e-4 * (abs(want) + scale):
                return f"element {place} of {name} is {have}, not {want}"
    return ""
