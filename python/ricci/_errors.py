"""Errors of programs as exceptions: a class for each kind."""


class Error(Exception):
    """An error of a Ricci program. str(e) is the whole report, with its place and its help."""

    kind = message = help = source = ""
    line = column = 0
    value = None

    def __str__(self):
        return self.report or Exception.__str__(self)

    report = ""


_NEAREST = {
    "syntax": SyntaxError, "name": NameError, "type": TypeError, "dtype": TypeError,
    "shape": ValueError, "value": ValueError, "index": IndexError, "numeric": ArithmeticError,
    "memory": MemoryError, "io": OSError, "assert": AssertionError,
}
KINDS = {
    kind: type(name, (Error, _NEAREST.get(kind, RuntimeError)), {
        "__module__": "ricci", "__doc__": f"An error of kind {kind}."})
    for kind, name in {
        "syntax": "SyntaxError", "name": "NameError", "type": "TypeError", "shape": "ShapeError",
        "index": "IndexError", "value": "ValueError", "dtype": "DtypeError", "grad": "GradError",
        "device": "DeviceError", "numeric": "NumericError", "memory": "MemoryError",
        "io": "IoError", "ffi": "FfiError", "interrupt": "InterruptError",
        "assert": "AssertError", "throw": "ThrowError"}.items()}


def make(parts, value):
    """The exception of (kind, report, message, help, source, line, column)."""
    kind, report, message, help, source, line, column = parts
    e = KINDS.get(kind, Error)(message)
    e.kind, e.report, e.message, e.help = kind, report.rstrip("\n") or message, message, help
    e.source, e.line, e.column, e.value = source, line, column, value
    return e
