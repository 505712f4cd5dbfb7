"""What a user sees: a small terminal that is fed with a session's output.

`Screen` keeps cells with colours, wraps as xterm does (a full row waits for the next character),
scrolls into `history`, and can be resized, with or without wrapping its text anew. `Sight` is a
Session with a Screen: it types, waits until nothing more comes, and says what stands where."""
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
import unicodedata

from session import Session, WAIT

CODE = re.compile(r"\x1b\[([?>=]?)([0-9;:]*)([ -/]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|\x1b[^\[\]()]", re.S)


def width(char):
    if unicodedata.combining(char) or char in "\u200b\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Screen:
    def __init__(self, rows, columns, reflow=True):
        self.rows, self.columns, self.reflow = rows, columns, reflow
        self.history = []
        self.cells = [[] for _ in range(rows)]      # rows of (text, look); "" behind a wide one
        self.wrapped = [False] * rows               # does the next row go on with this one?
        self.row = self.column = 0
        self.pending = False                        # the row is full: the next character wraps
        self.look = ""
        self.rest = ""
        self.raw = b""
        self.bells = 0
        self.modes = set()
        self.bytes = b""

    # -- what it shows
    def line(self, row):
        return "".join(c for c, _ in self.cells[row]).rstrip()

    def lines(self):
        """All rows down to the last one with text."""
        lines = [self.line(r) for r in range(self.rows)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def all(self):
        return self.history + self.lines()

    def looks(self, text, row=None):
        """The set of looks of the cells of `text`, where it stands last."""
        for r in range(self.rows - 1, -1, -1) if row is None else [row]:
            at = self.line(r).rfind(text)
            if at >= 0:
                columns = []
                for i, (c, _) in enumerate(self.cells[r]):
                    columns += [i] * len(c)
                return {self.cells[r][columns[i]][1] for i in range(at, at + len(text))
                        if not self.line(r)[i].isspace()}
        return None

    def cursor(self):
        return self.row, self.column

    # -- what it is told
    def feed(self, data):
        self.bytes += data
        self.raw += data
        try:
            text, self.raw = self.raw.decode(), b""
        except UnicodeDecodeError as e:
            if e.start < len(self.raw) - 4:
                text, self.raw = self.raw.decode(errors="replace"), b""
            else:
                text, self.raw = self.raw[:e.start].decode(), self.raw[e.start:]
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                code = CODE.match(text, at)
                if not code:
                    self.rest = text[at:]
                    return
                if code.group(4):
                    self.code(*code.groups())
                at = code.end()
            else:
                self.put(text[at])
                at += 1

    def put(self, char):
        if char == "\r":
            self.column, self.pending = 0, False
        elif char == "\n":
            self.down()
        elif char == "\b":
            self.column, self.pending = max(0, self.column - 1), False
        elif char == "\a":
            self.bells += 1
        elif char == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        elif ord(char) < 32 or 0x7f <= ord(char) < 0xa0:
            raise ValueError("a control character is sent: %r" % char)
        else:
            self.put_char(char, width(char))

    def put_char(self, char, cells):
        if cells == 0:
            row = self.cells[self.row]
            at = self.column - (0 if self.pending else 1)
            while at > 0 and row[at][0] == "":
                at -= 1
            if 0 <= at < len(row):
                row[at] = (row[at][0] + char, row[at][1])
            return
        if self.pending or self.column + cells > self.columns:
            self.wrapped[self.row] = True
            self.down()
            self.column = 0
        row = self.cells[self.row]
        while len(row) < self.column + cells:
            row.append((" ", ""))
        row[self.column] = (char, self.look)
        if cells == 2:
            row[self.column + 1] = ("", self.look)
        self.column += cells
        self.pending = self.column >= self.columns
        if self.pending:
            self.column = self.columns - 1

    def down(self):
        self.pending = False
        if self.row + 1 < self.rows:
            self.row += 1
            return
        self.history.append(self.line(0))
        self.cells = self.cells[1:] + [[]]
        self.wrapped = self.wrapped[1:] + [False]

    def code(self, private, numbers, _, final):
        n = [int(x) if x else 0 for x in re.split("[;:]", numbers)]
        first = n[0] or 1
        if final == "m":
            look = ";".join(str(x) for x in n)
            self.look = "" if look in ("0", "") else re.sub("^0;", "", look)
            return
        if private:
            for mode in n:
                (self.modes.add if final == "h" else self.modes.discard)(mode)
            return
        if final in "ABCDGHf":
            self.pending = False
        if final == "A":
            self.row = max(0, self.row - first)
        elif final == "B":
            self.row = min(self.rows - 1, self.row + first)
        elif final == "C":
            self.column = min(self.columns - 1, self.column + first)
        elif final == "D":
            self.column = max(0, self.column - first)
        elif final == "G":
            self.column = min(self.columns, first) - 1
        elif final in "Hf":
            self.row = min(self.rows, first) - 1
            self.column = min(self.columns, (n[1] if len(n) > 1 else 0) or 1) - 1
        elif final == "K" and n[0] == 0:
            del self.cells[self.row][self.column:]
            self.wrapped[self.row] = False
        elif final == "K":
            self.cells[self.row] = []
        elif final == "J" and n[0] == 0:
            del self.cells[self.row][self.column:]
            self.wrapped[self.row] = False
            for r in range(self.row + 1, self.rows):
                self.cells[r], self.wrapped[r] = [], False
        elif final == "J" and n[0] in (2, 3):
            self.cells = [[] for _ in range(self.rows)]
            self.wrapped = [False] * self.rows

    def resize(self, rows, columns):
        """As terminals do: rows too many go to the history from above, those empty below first."""
        cells, wrapped, cursor = self.cells, self.wrapped, (self.row, self.column)
        if self.reflow and columns != self.columns:
            cells, wrapped, cursor = self.wrap_anew(columns)
        elif columns < self.columns:
            cells = [row[:columns] for row in cells]
        while len(cells) > rows and len(cells) - 1 > cursor[0] and not cells[-1]:
            cells, wrapped = cells[:-1], wrapped[:-1]
        while len(cells) > rows:
            self.history.append("".join(c for c, _ in cells[0]).rstrip())
            cells, wrapped, cursor = cells[1:], wrapped[1:], (max(0, cursor[0] - 1), cursor[1])
        self.cells = cells + [[] for _ in range(rows - len(cells))]
        self.wrapped = wrapped + [False] * (rows - len(wrapped))
        self.rows, self.columns = rows, columns
        self.row, self.column, self.pending = cursor[0], min(cursor[1], columns - 1), False

    def wrap_anew(self, columns):
        cells, wrapped, cursor = [], [], (0, 0)
        line = []
        for r in range(self.rows):
            if r == self.row:
                mark = len(line) + self.column
            line += self.cells[r]
            if self.wrapped[r]:
                continue
            first = len(cells)
            pieces = [line[i:i + columns] for i in range(0, len(line), columns)] or [[]]
            cells += pieces
            wrapped += [True] * (len(pieces) - 1) + [False]
            if "mark" in locals() and mark is not None:
                cursor = (first + mark // columns, mark % columns)
                while cursor[0] >= len(cells):
                    cells.append([])
                    wrapped.append(False)
                mark = None
            line = []
        return cells, wrapped, cursor


class Sight(Session):
    """A session that is looked at. The terminal knows colours unless told otherwise."""

    def __init__(self, home, size=(24, 80), term="xterm-256color", reflow=True, **more):
        self.screen = Screen(*size, reflow=reflow)
        super().__init__(home, size=size, term=term, **more)
        self.screen.feed(self.all)
        self.settle()

    def is_idle(self):
        """Do all its threads sleep, so that it waits for keys?"""
        try:
            for task in os.listdir("/proc/%d/task" % self.pid):
                with open("/proc/%d/task/%s/stat" % (self.pid, task)) as f:
                    if f.read().rpartition(")")[2].split()[0] in "RD":
                        return False
        except OSError:
            pass
        return True

    def settle(self, quiet=0, wait=WAIT):
        """Reads until nothing more comes and it sleeps, three times in a row, and for `quiet` seconds."""
        limit, since, idle = time.time() + wait, time.time(), 0
        while time.time() < limit and (idle < 3 or time.time() - since < quiet):
            ready, _, _ = select.select([self.fd], [], [], 0.003)
            idle = 0 if ready or not self.is_idle() else idle + 1
            if not ready:
                continue
            since = time.time()
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.screen.feed(data)

    def see(self, what, wait=WAIT):
        """Waits until `what` (a text, or a question about the screen) is seen."""
        limit = time.time() + wait
        ask = what if callable(what) else lambda s: what in "\n".join(s.lines())
        while not ask(self.screen) and time.time() < limit:
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                try:
                    self.screen.feed(os.read(self.fd, 65536))
                except OSError:
                    break
        return ask(self.screen)

    def type(self, text, each=False):
        """Types as a hand does: every key on its own, or all at once."""
        keys = re.findall(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|\x1b.|.", text, re.S) if each else [text]
        for key in keys:
            self.send(key)
            self.settle(0.1 if key == "\x1b" else 0)       # Escape may begin a longer key

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.settle(0.1)

    def paste(self, text):
        self.type("\x1b[200~" + text + "\x1b[201~")

    def signal(self, number=signal.SIGINT):
        os.kill(self.pid, number)
