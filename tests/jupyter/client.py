"""A client of Jupyter kernels in Python's standard library: ZMTP 3.0 with the NULL mechanism (rfc.zeromq.org/spec/23)
over TCP and Unix sockets, and Jupyter's messages on it. `Kernel` starts `ricci jupyter run` and speaks with it."""
import ctypes.util
import hashlib
import hmac
import json
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
import uuid

LIMIT = 60                    # seconds until a test says that nothing came


class Socket:
    """One connection to a socket of libzmq. kind: DEALER, SUB or REQ."""

    def __init__(self, address, kind):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.raw = socket.socket(family, socket.SOCK_STREAM)
        self.raw.settimeout(LIMIT)
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                self.raw.connect(address)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
        self.buffer = b""
        self.raw.sendall(b"\xff" + b"\0" * 8 + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" * 32)
        self.exactly(64)
        properties = b""
        for name, value in ((b"Socket-Type", kind.encode()), (b"Identity", b"")):
            properties += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
        body = b"\x05READY" + properties
        self.raw.sendall(bytes([4, len(body)]) + body)
        flags, body = self.frame()
        assert flags & 4 and body.startswith(b"\x05READY"), body
        if kind == "SUB":
            self.send([b"\x01"])

    def exactly(self, n):
        while len(self.buffer) < n:
            more = self.raw.recv(1 << 16)
            if not more:
                raise EOFError("the kernel has closed the connection")
            self.buffer += more
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def frame(self):
        flags = self.exactly(1)[0]
        size = struct.unpack(">Q", self.exactly(8))[0] if flags & 2 else self.exactly(1)[0]
        return flags, self.exactly(size)

    def send(self, frames):
        data = b""
        for i, frame in enumerate(frames):
            more = 1 if i + 1 < len(frames) else 0
            data += bytes([more]) + bytes([len(frame)]) if len(frame) < 256 else bytes([more | 2]) + struct.pack(">Q", len(frame))
            data += frame
        self.raw.sendall(data)

    def receive(self, timeout=LIMIT):
        """The frames of the next message; None: none came in time."""
        if not self.buffer and not select.select([self.raw], [], [], timeout)[0]:
            return None
        frames = []
        while True:
            flags, body = self.frame()
            if flags & 4:                          # a command, such as a ping
                continue
            frames.append(body)
            if not flags & 1:
                return frames

    def close(self):
        self.raw.close()


class Client:
    """Speaks with a kernel of this connection."""

    def __init__(self, connection):
        self.connection = connection
        self.session = uuid.uuid4().hex
        self.shell = self.socket("shell", "DEALER")
        self.control = self.socket("control", "DEALER")
        self.iopub = self.socket("iopub", "SUB")
        self.welcome = self.read(self.iopub)

    def socket(self, channel, kind):
        c = self.connection
        port = c[channel + "_port"]
        return Socket(f"{c['ip']}-{port}" if c["transport"] == "ipc" else (c["ip"], port), kind)

    def sign(self, parts):
        key = self.connection["key"].encode()
        return hmac.new(key, b"".join(parts), hashlib.sha256).hexdigest().encode() if key else b""

    def message(self, kind, content):
        header = {"msg_id": uuid.uuid4().hex, "session": self.session, "username": "test", "version": "5.4",
                  "msg_type": kind, "date": "2024-01-01T00:00:00Z"}
        parts = [json.dumps(x).encode() for x in (header, {}, {}, content)]
        return header["msg_id"], [b"<IDS|MSG>", self.sign(parts)] + parts

    def send(self, kind, content=None, channel=None):
        name, frames = self.message(kind, content or {})
        (channel or self.shell).send(frames)
        return name

    def read(self, channel, timeout=LIMIT):
        """The next message, its signature checked; None: none came."""
        frames = channel.receive(timeout)
        if frames is None:
            return None
        at = frames.index(b"<IDS|MSG>")
        parts = frames[at + 2:]
        assert frames[at + 1] == self.sign(parts), "a message of the kernel is signed wrongly"
        header, parent, metadata, content = (json.loads(p) for p in parts)
        return {"type": header["msg_type"], "header": header, "parent": parent.get("msg_id"), "metadata": metadata,
                "content": content}

    def reply(self, name, channel=None):
        while True:
            m = self.read(channel or self.shell)
            assert m, "no reply came"
            if m["parent"] == name:
                return m

    def published(self, name, until=None):
        """What was published for a request, up to its idle, or to the first message that `until` likes."""
        found = []
        while True:
            m = self.read(self.iopub)
            assert m, f"nothing more was published after {[f['type'] for f in found]}"
            if m["parent"] == name:
                found.append(m)
                if until and until(m):
                    return found
                if m["type"] == "status" and m["content"]["execution_state"] == "idle":
                    return found

    def ask(self, kind, content=None):
        name = self.send(kind, content)
        reply = self.reply(name)
        self.published(name)
        return reply["content"]

    def start(self, code, **options):
        return self.send("execute_request", {"code": code, "silent": False, "store_history": True,
                                             "user_expressions": {}, "allow_stdin": False, "stop_on_error": True, **options})

    def run(self, code, **options):
        """Runs a cell: its reply's content, and what was published between busy and idle."""
        name = self.start(code, **options)
        out = self.published(name)
        return self.reply(name)["content"], out[1:-1]

    def close(self):
        for s in (self.shell, self.control, self.iopub):
            s.close()


def there_is_zmq():
    """Whether the kernel will find libzmq."""
    if ctypes.util.find_library("zmq"):
        return True
    try:
        return "libzmq.so.5" in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return False


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


PORTS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")


class Kernel:
    """A kernel of our own, in a folder of its own, and a client. curve: what the connection file says of CurveZMQ; our
    client does not speak it, so there is none then."""

    def __init__(self, ricci, transport="tcp", key="secret of the tests", env=None, through=None, curve=None):
        self.folder = tempfile.mkdtemp()
        ip = "127.0.0.1" if transport == "tcp" else os.path.join(self.folder, "socket")
        ports = free_ports(5) if transport == "tcp" else range(1, 6)
        self.connection = {"transport": transport, "ip": ip, "key": key, "signature_scheme": "hmac-sha256",
                           **dict(zip(PORTS, ports)), **(curve or {})}
        self.path = os.path.join(self.folder, "connection.json")
        with open(self.path, "w") as file:
            json.dump(self.connection, file)
        self.stderr = open(os.path.join(self.folder, "stderr"), "w+")
        state = os.path.join(self.folder, "state")
        self.process = subprocess.Popen((through or []) + [ricci, "jupyter", "run", self.path], cwd=self.folder,
                                        stderr=self.stderr, env={**os.environ, "XDG_STATE_HOME": state, **(env or {})},
                                        start_new_session=True)
        self.client = None if curve else Client(self.connection)

    def said(self):
        self.stderr.flush()
        with open(self.stderr.name) as file:
            return file.read()

    def ended(self, timeout=LIMIT):
        try:
            self.process.wait(timeout)
            return True
        except subprocess.TimeoutExpired:
            return False

    def signal(self):
        os.kill(self.process.pid, signal.SIGINT)

    def close(self):
        if self.client:
            self.client.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.stderr.close()


def text_of(messages, name="stdout"):
    return "".join(m["content"]["text"] for m in messages if m["type"] == "stream" and m["content"]["name"] == name)
