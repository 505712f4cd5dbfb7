"""%load_ext ricci: %%ricci runs a cell, %ricci is the value of an expression."""
import shlex
import sys

from . import Error, default


def _names(words, option):
    """The names behind -i and -o: `-i a,b -i c`."""
    names = []
    for at, word in enumerate(words):
        if word == option:
            if at + 1 == len(words):
                raise ValueError(f"{option} wants names: {option} a,b")
            names += [n for n in words[at + 1].split(",") if n]
    return names


def _show(forms, width, height, result):
    from IPython.display import display
    size = {"image/png": {"width": width, "height": height}} if "image/png" in forms else {}
    display(forms, metadata=size, raw=True)


def run_cell(shell, line, cell, show=_show):
    """A cell with Python's variables of -i, whose results of -o go back."""
    words = shlex.split(line)
    stray = [w for at, w in enumerate(words)
             if w not in ("-i", "-o") and (at == 0 or words[at - 1] not in ("-i", "-o"))]
    if stray:
        print(f"%%ricci does not know {stray[0]}: it reads %%ricci -i a,b -o C", file=sys.stderr)
        return False
    session, given, wanted = default(), _names(words, "-i"), _names(words, "-o")
    missing = [n for n in given if n not in shell.user_ns]
    if missing:
        print(f"%%ricci -i {missing[0]}: there is no variable {missing[0]} in Python",
              file=sys.stderr)
        return False
    try:
        for name in given:
            session[name] = shell.user_ns[name]
        session._cell(cell, "<cell>", show, not cell.rstrip().endswith(";"))
        missing = [n for n in wanted if n not in session]
        if missing:
            print(f"%%ricci -o {missing[0]}: the cell has no variable {missing[0]}",
                  file=sys.stderr)
            return False
        for name in wanted:
            shell.user_ns[name] = session[name]
    except Error as e:
        print(e, file=sys.stderr)
        return False
    return True


def load(shell):
    """Both magics, in an IPython shell."""
    def ricci(line, cell=None):
        if cell is not None:
            run_cell(shell, line, cell)
            return None
        try:
            return default().eval(line)
        except Error as e:
            print(e, file=sys.stderr)
            return None
    shell.register_magic_function(ricci, "line_cell", "ricci")
