"""Builds the wheel of the module ricci, with the standard library alone: PEP 517's backend for
`pip install .` (pyproject.toml), and `make wheel` (python python/backend.py BUILD). What compiles
is make; everything generated lies in build/."""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def version():
    with open(os.path.join(ROOT, "Makefile")) as f:
        return re.search(r"^VERSION = (\S+)", f.read(), re.M).group(1)


def newest_glibc(paths):
    """The newest GLIBC_2.N that the files ask for: it is in the names of their symbols' versions."""
    newest = 17
    for path in paths:
        with open(path, "rb") as f:
            newest = max([newest, *(int(n) for n in re.findall(rb"GLIBC_2\.(\d+)", f.read()))])
    return newest


def platform_tag(paths):
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if machine.startswith("linux_"):
        return f"manylinux_2_{newest_glibc(paths)}_{machine.removeprefix('linux_')}"
    return machine


def metadata():
    with open(os.path.join(ROOT, "docs", "python.md")) as f:
        text = f.read()
    return ("Metadata-Version: 2.1\nName: ricci\n"
            f"Version: {version()}\n"
            "Summary: A small language for tensor mathematics\nLicense: MIT\n"
            "Requires-Python: >=3.11\nDescription-Content-Type: text/markdown\n\n" + text)


def make(*targets):
    jobs = str(os.cpu_count() or 1)
    command = ["make", "-s", f"-j{jobs}", f"PYTHON={sys.executable}", *targets]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        raise SystemExit("ricci: `make python` failed; it needs a C compiler, flex, bison, the "
                         "headers of Python and those that .ci/deps names")


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def add(archive, record, name, data, mode=0o644):
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))      # the same sources give the same bytes
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)
    record.append(f"{name},{digest(data)},{len(data)}")


def write_wheel(folder, package):
    """package: the folder with everything that is installed. Returns the file's name."""
    paths = sorted(os.path.join(at, f) for at, _, files in os.walk(package) for f in files
                   if not f.endswith(".pyc"))
    native = [p for p in paths if not p.endswith(".py")]
    tag = f"cp311-abi3-{platform_tag(native)}"
    name, info = f"ricci-{version()}-{tag}.whl", f"ricci-{version()}.dist-info"
    record = []
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        for path in paths:
            with open(path, "rb") as f:
                add(archive, record, "ricci/" + os.path.relpath(path, package), f.read(),
                    0o755 if path in native else 0o644)
        with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
            add(archive, record, f"{info}/LICENSE", f.read())
        add(archive, record, f"{info}/METADATA", metadata().encode())
        add(archive, record, f"{info}/WHEEL", ("Wheel-Version: 1.0\nGenerator: ricci\n"
                                               "Root-Is-Purelib: false\n"
                                               f"Tag: {tag}\n").encode())
        add(archive, record, f"{info}/entry_points.txt",
            b"[console_scripts]\nricci = ricci.__main__:main\n")
        record.append(f"{info}/RECORD,,\n")
        archive.writestr(f"{info}/RECORD", "\n".join(record))
    return name


# ---- PEP 517 ----
def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    make("python")
    return write_wheel(wheel_directory, os.path.join(ROOT, "build", "python", "ricci"))


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the source tree itself is what is installed: pip install .")


if __name__ == "__main__":
    built = sys.argv[1]
    print(os.path.join(built, write_wheel(built, os.path.join(built, "python", "ricci"))))
