"""What broke a session once: pastes without an end, windows of one column, files in the way."""
import fcntl
import os
import stat
import struct
import termios

from session import PROMPT, Session, check
from screen import Sight


def test_paste_without_end(home):
    s = Sight(home)
    s.send("\x1b[200~x = 1\ny = 2")
    s.settle()
    s.type("\x03")
    s.type("1 + 2\r", each=True)
    check("Ctrl-C ends a paste without an end", s.screen.lines()[-2:] == ["3", "ricci>"], s.screen.lines())
    check("and the session", s.end() == 0)


def test_one_column(home):
    """Readline draws itself on a dumb terminal, and divided by the columns."""
    prompt = b"<i> "               # what readline shows of it
    s = Session(home, size=(5, 1), ready=prompt, LC_ALL="C")
    for columns in (1, 2, 0, 1):
        fcntl.ioctl(s.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 5, columns, 0, 0))
        s.send("6 * 7\n")
        check("%d columns" % columns, b"42" in s.until(b"42\r\n" + prompt, PROMPT), s.all)
    check("leaving", s.end() == 0)


def test_history_of_one_long_line(home):
    """What no entry is that long was recalled, and drawn for a minute."""
    folder = os.path.join(home, ".local/state/ricci")
    os.makedirs(folder)
    with open(os.path.join(folder, "history"), "w") as out:
        out.write("1 + 3\n" + "x" * 20000000 + "\n")
    s = Sight(home)
    s.type("\x1b[A")
    s.type("\r")
    check("Up goes past it", s.screen.lines()[-3:] == ["ricci> 1 + 3", "4", "ricci>"], s.screen.lines())
    s.end()


def test_file_of_a_library_name(home):
    """steps() took its algorithms from a file of the user."""
    with open(os.path.join(home, "steps.ric"), "w") as out:
        out.write("print(\"mine\")\n")
    s = Session(home)
    s.send("steps(det, [1, 2; 3, 4])\n")
    got = s.until(b"ricci> ")
    check("steps beside steps.ric", b"mine" not in got and b"-2" in got and b"error" not in got, got)
    s.end()


def test_history_that_others_may_read(home):
    """A file that came with another mode, by a copy or another umask, kept it."""
    folder = os.path.join(home, ".local/state/ricci")
    path = os.path.join(folder, "history")
    os.makedirs(folder)
    for mode in (0o644, 0o666, 0o4777, 0o600, None):
        if mode is not None:
            with open(path, "w") as out:
                out.write("1 + 3\n")
            os.chmod(path, mode)
        else:
            os.remove(path)
        umask = os.umask(0)
        s = Session(home)
        os.umask(umask)
        at_once = stat.S_IMODE(os.stat(path).st_mode)
        check("a history of mode %s at the prompt" % mode, at_once == 0o600, oct(at_once))
        os.chmod(path, 0o644)                   # while the session runs
        s.line("2 + 2")
        check("and with the next entry", stat.S_IMODE(os.stat(path).st_mode) == 0o600)
        s.end()
    other = os.path.join(home, "other")         # of a link, and of what it names, nothing is changed
    with open(other, "w") as out:
        out.write("mine\n")
    os.chmod(other, 0o644)
    os.remove(path)
    os.symlink(other, path)
    s = Session(home)
    s.line("2 + 2")
    s.end()
    check("a link is no history", stat.S_IMODE(os.stat(other).st_mode) == 0o644 and open(other).read() == "mine\n")
