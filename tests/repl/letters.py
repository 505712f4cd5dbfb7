"""The prompt in other locales: a letter is a letter of UTF-8 and as wide as it is, and decimals have a
point, whatever the environment says, also where no locale is set or the one that is has 8 bits."""
import os
import subprocess

from session import Session, check

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def locales():
    """The folder of locales that tests may use, or None."""
    made = subprocess.run(["bash", "tests/tools/locales.sh"], cwd=ROOT, capture_output=True, text=True)
    if made.returncode != 0:
        print("not run: repl in other locales: %s" % made.stderr.strip())
        return None
    return made.stdout.strip()


def plain(text):
    """What came out, without what the terminal is told."""
    return text.split("\x1b[?2004l")[-1]


def in_locale(home, name, term, folder):
    s = Session(home, term=term, LC_ALL=name, **({"LOCPATH": folder} if folder else {}))

    def expect(keys, want):
        got = plain(s.line(keys))
        check("%s, %s: %r" % (name, term, keys), got == want, got)

    expect('"xαβ\x7fy"', '"xαy"')                        # Backspace takes a letter
    expect('"漢字"\x02\x02\x7fé', '"é字"')                # so does Ctrl-B
    expect("π = 3.25; π / 2", "1.625")
    expect('float("2.5") + 1e-1', "2.6")
    expect('"{1.5:.2f} {0.125:e}"', '"1.50 1.250000e-01"')
    # C code that a program calls takes the locale over.
    expect('extern "libc.so.6" { char *setlocale(int category, const char *name); }', "")
    expect('setlocale(0, null)', '"C"')                  # LC_CTYPE: readline has not kept its own
    if folder:
        expect('setlocale(6, "de_DE.UTF-8")', '"de_DE.UTF-8"')
        expect('x = 1.5; x * float("2.5")', "3.75")
        expect('"ä\x7fü {x:.2f}"', '"ü 1.50"')
        expect('setlocale(6, null)', '"de_DE.UTF-8"')    # and it is still theirs
    s.end()


def test_locale(home):
    folder = locales()
    for name in ("C", "POSIX", "", "C.UTF-8") + (("de_DE.UTF-8", "tr_TR.UTF-8", "tr_TR.ISO-8859-9") if folder else ()):
        for term in ("dumb", "xterm"):
            in_locale(home, name, term, folder)
