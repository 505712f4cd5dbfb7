"""The kernel of notebooks as a client sees it, over its sockets (tests/jupyter/client.py): nothing but Python's standard
library and libzmq5, which the kernel opens. Ends with N passed, N failed."""
import ctypes
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from xml.etree import ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Client, Kernel, text_of, there_is_zmq

ricci = os.path.abspath(os.environ.get("RICCI", "build/ricci"))
passed = failed = 0


def check(what, good, more=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}")
        if more != "":
            print(f"    {more}"[:3000])


def equal(what, got, wanted):
    check(what, got == wanted, f"{got!r}, not {wanted!r}")


def types(messages):
    return [m["type"] for m in messages]


def results(messages):
    return [m["content"]["data"] for m in messages if m["type"] == "execute_result"]


# ---- cells ----
def cells(c):
    reply, out = c.run("1 + 1")
    equal("a value", types(out), ["execute_input", "execute_result"])
    equal("its text", out[1]["content"]["data"], {"text/plain": "2"})
    equal("its number", (reply["execution_count"], out[1]["content"]["execution_count"], reply["status"]), (1, 1, "ok"))
    equal("the code that ran", out[0]["content"], {"code": "1 + 1", "execution_count": 1})
    for code in ("2;", "x = 3", "none", "", "  \n ", "# nothing", "fn f(t) { t }"):
        equal(f"{code!r} shows nothing", types(c.run(code)[1]), ["execute_input"])
    equal("ans", results(c.run("ans")[1]), [{"text/plain": "2"}])
    equal("a text in quotes", results(c.run('"a"')[1]), [{"text/plain": '"a"'}])
    reply, out = c.run('print("one"); warn("careful"); print("two"); 5')
    equal("both streams in order", [(m["content"].get("name"), m["content"].get("text", "")[:7]) for m in out[1:4]],
          [("stdout", "one\n"), ("stderr", "notice:"), ("stdout", "two\n")])
    equal("and the value behind", types(out)[4:], ["execute_result"])
    check("a notice names the cell", re.search(r"\(<cell:\d+>:1\)", text_of(out, "stderr")), out)
    equal("parts of lines", text_of(c.run('print("a", end=""); print("b")')[1]), "ab\n")
    equal("a session's copy", results(c.run("ricci> y = 4\nricci> y * 2\n8")[1]), [{"text/plain": "8"}])
    check("another language's spelling is answered", "fn " in "".join(c.run("def f(x):\n    return x")[0].get("traceback", [])))


def commands(c):
    c.run("width = 7")
    check(":vars", "width" in text_of(c.run(":vars")[1]))
    reply, out = c.run("?svd")
    equal("help is no output", types(out), ["execute_input"])
    check("it is a page", reply["payload"][0]["source"] == "page" and "svd(" in reply["payload"][0]["data"]["text/plain"])
    check("as other systems ask", "svd(" in c.run("svd?")[0]["payload"][0]["data"]["text/plain"])
    equal("?? searches", c.run("??least squares")[0]["payload"][0]["source"], "page")
    equal("a shell command", text_of(c.run("!echo hi; echo there")[1]), "hi\nthere\n")
    equal("its errors", text_of(c.run("!echo no >&2")[1], "stderr"), "no\n")
    equal("its status", text_of(c.run("!exit 3")[1]), "exit status 3\n")
    equal("its input is empty", text_of(c.run("!cat; echo end")[1]), "end\n")
    reply, out = c.run("!echo first\n:pwd\nwidth + 1")
    check("commands at the front of a cell", text_of(out).startswith("first\n/") and results(out) == [{"text/plain": "8"}], out)
    check(":time", "allocations" in text_of(c.run(":time 1 + 1")[1]))
    reply, out = c.run(":edit")
    check("what needs a terminal says so", reply["status"] == "error" and "terminal" in reply["evalue"], reply)
    equal("clc", types(c.run("clc")[1]), ["execute_input", "clear_output"])
    reply = c.run("exit(3)")[0]
    equal("exit asks to end", (reply["status"], reply["payload"]), ("ok", [{"source": "ask_exit", "keepkernel": False}]))
    equal("so does :quit", c.run(":quit")[0]["payload"], [{"source": "ask_exit", "keepkernel": False}])
    equal("the kernel goes on", results(c.run("width")[1]), [{"text/plain": "7"}])


def errors(c):
    reply, out = c.run('print("before"); [1, 2] + [1, 2, 3]')
    equal("what was printed comes first", types(out), ["execute_input", "stream", "error"])
    e = out[2]["content"]
    equal("the kind", e["ename"], "shape")
    check("the message", "[1, 2]" in e["evalue"], e)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(e["traceback"]))
    check("the report has the place and carets", re.search(r"<cell:\d+>:1", plain) and "^" in plain, plain)
    check("in colours", "\x1b[" in "".join(e["traceback"]))
    equal("the reply says the same", {k: reply[k] for k in ("status", "ename", "evalue", "traceback")}, {"status": "error", **e})
    equal("a syntax error", c.run("x = = 1")[0]["ename"], "syntax")
    equal("thrown values", c.run('throw "mine"')[0]["evalue"], "mine")
    check(":explain tells of the last", "mine" in text_of(c.run(":explain")[1]))


def options(c):
    c.run("a = 5; 7")
    before = c.run("0;")[0]["execution_count"]
    reply, out = c.run('print("x"); 3', silent=True)
    equal("silent publishes nothing", types(out), [])
    equal("nor counts", (reply["status"], reply["execution_count"]), ("ok", before))
    reply, out = c.run("nonsense_name", silent=True)
    equal("nor publishes errors", (types(out), reply["status"]), ([], "error"))
    reply, out = c.run("a", store_history=False)
    equal("not stored, but shown", (reply["execution_count"], results(out)), (before, [{"text/plain": "5"}]))
    reply, out = c.run("9", user_expressions={"s": "a + 1", "m": "[1, 2]", "wrong": "1 +", "no": "missing_name"})
    said = reply["user_expressions"]
    equal("an expression", (said["s"]["status"], said["s"]["data"]), ("ok", {"text/plain": "6"}))
    check("its forms", "text/latex" in said["m"]["data"])
    equal("errors of its own", (said["wrong"]["ename"], said["no"]["ename"], reply["status"]), ("syntax", "name", "ok"))
    equal("ans is the cell's", results(c.run("ans")[1]), [{"text/plain": "9"}])
    equal("a cell that failed evaluates none", c.run("missing_name", user_expressions={"s": "1"})[0]["user_expressions"], {})

    names = [c.start(code) for code in ("!sleep 0.2", "missing_name", "a = 6", "a")]
    names.insert(4, c.send("kernel_info_request"))
    replies = [c.reply(n)["content"]["status"] for n in names]
    equal("what is queued behind an error is aborted", replies, ["ok", "error", "aborted", "aborted", "ok"])
    for n in names:
        last = c.published(n)
        check("aborted cells say busy and idle alone", last[0]["content"] == {"execution_state": "busy"})
    equal("it did not run", results(c.run("a")[1]), [{"text/plain": "5"}])
    names = [c.start(code, stop_on_error=False) for code in ("missing_name", "a = 6")]
    equal("unless it may go on", [c.reply(n)["content"]["status"] for n in names], ["error", "ok"])


# ---- what is shown ----
def rich(c):
    def forms(code):
        data = results(c.run(code)[1])
        return data[0] if data else {}

    def latex(code):
        return forms(code).get("text/latex")

    equal("an exact number", latex("rational(1) / 3"), "$\\displaystyle \\frac{1}{3}$")
    check("a decimal, an mp number, an interval", all(latex(f"precision {f} {{ 1 / 3 }}") for f in ("decimal(5)", "mp(80)", "interval")))
    for code in ("1.5", "7", '"text"', "true", "(1, 2)", "1:3", "f32(1.5)"):
        equal(f"{code}: text alone", list(forms(code)), ["text/plain"])
    check("a matrix", "begin{bmatrix}" in (latex("[1, 2; 3, 4]") or "") or "matrix" in (latex("[1, 2; 3, 4]") or ""))
    check("as format(latex) prints it", latex("[1.5, 2; 3, 4]") ==
          "$\\displaystyle " + text_of(c.run('format("latex"); print([1.5, 2; 3, 4]); format("plain")')[1]).strip() + "$")
    equal('format("plain") leaves it out', list(forms("[1, 2; 3, 4]")), ["text/plain"])
    c.run('format("latex")')
    check("and the others bring it back", "text/latex" in forms("[1, 2; 3, 4]"))
    c.run('format("full")')
    equal("20 rows and 10 columns are the most", ["text/latex" in forms(f"zeros({s})") for s in
                                                  ("20, 10", "21, 10", "20, 11", "20", "21", "2, 2, 2")],
          [True, False, False, True, False, False])
    check("a table of devices", forms("devices()")["text/html"].startswith("<table>"))

    reply, out = c.run('print("a"); plot([1, 4, 9], title="<&>"); print("b")')
    equal("a picture among the text", types(out), ["execute_input", "stream", "display_data", "stream"])
    data, meta = out[2]["content"]["data"], out[2]["content"]["metadata"]
    root = ElementTree.fromstring(data["image/svg+xml"])
    check("SVG", root.tag.endswith("svg"))
    check("text of the picture", "<&>" in data["text/plain"])
    if "image/png" in data:                          # cairo is there
        import base64
        png = base64.b64decode(data["image/png"])
        size = struct.unpack(">II", png[16:24])
        equal("the PNG has twice the size", size, tuple(2 * meta["image/png"][k] for k in ("width", "height")))
    for code in ("scatter([1, 2], [3, 4])", "hist([1, 2, 2])", "heat([1, 2; 3, 4])", "spy(eye(3))", "contour([0, 1; 1, 2])"):
        equal(code, types(c.run(code)[1]), ["execute_input", "display_data"])
    big = c.run("scatter(rand(20000), rand(20000))")[1][-1]["content"]["data"]
    check("a large picture is sent without SVG", len(big.get("image/svg+xml", "")) < 300000 and "text/plain" in big)
    equal("with to= it is a file", types(c.run('plot([1, 2], to="a.svg")')[1]), ["execute_input"])
    for code in ("compare f32, f64 { 1 / 3 }", "profile { sum(zeros(4)) }"):
        out = c.run(code)[1]
        html = [m["content"]["data"]["text/html"] for m in out if m["type"] == "display_data"]
        check(f"{code}: a table", html and "<table>" in html[0] and "</table>" in html[0], out)
        ElementTree.fromstring("<x>" + html[0] + "</x>")
    out = c.run('compare f32, "no format" { 1 / 3 }')
    out = c.run("compare rational, f64 { if sqrt(2) > 1 { throw \"<b>\" }; 1 }")[1]
    html = "".join(m["content"]["data"].get("text/html", "") for m in out if m["type"] == "display_data")
    check("what failed is escaped", not html or ("&lt;b&gt;" in html and "<b>" not in html), html)


def streams(k):
    c = k.client
    name = c.start('print("now"); while true { }')
    c.published(name, lambda m: m["type"] == "stream")
    check("text comes while the cell runs", True)
    c.send("interrupt_request", channel=c.control)
    c.published(name)
    equal("until it is interrupted", c.reply(name)["content"]["ename"], "interrupt")
    text = "é" * 100001 + "x"
    reply, out = c.run('for i in 0:1 { s = "é"; while len(s) < 100001 { s = s + s }; print(s[:100001], end="x") }')
    pieces = [m["content"]["text"] for m in out if m["type"] == "stream"]
    equal("nothing is lost", "".join(pieces) == text, True)
    check("64 kB a message", max(len(p.encode()) for p in pieces) <= 1 << 16, [len(p.encode()) for p in pieces])
    check("no character is cut", "\ufffd" not in "".join(pieces))
    lines = text_of(c.run("for i in 0:1000 { print(i) }")[1])
    equal("a thousand lines", lines, "".join(f"{i}\n" for i in range(1000)))
    reply, out = c.run('for i in 0:200 { print(i, end=" "); if i % 50 == 0 { warn("w{i}") } }')
    order = "".join(m["content"]["text"].split(" (")[0] + "|" if m["content"]["name"] == "stderr" else m["content"]["text"]
                    for m in out if m["type"] == "stream")
    wanted = "".join(f"{i} " + (f"notice: w{i}|" if i % 50 == 0 else "") for i in range(200))
    equal("two streams in order", order, wanted)
    name = c.start('while true { print("flood") }')
    c.published(name, lambda m: m["type"] == "stream")
    k.signal()
    last = c.reply(name)["content"]
    equal("a flood is stopped", last["ename"], "interrupt")
    c.published(name)


# ---- asking ----
def asking(c):
    def complete(code, cursor=None):
        r = c.ask("complete_request", {"code": code, "cursor_pos": len(code) if cursor is None else cursor})
        return r["matches"], r["cursor_start"], r["cursor_end"], r["metadata"]["_jupyter_types_experimental"]

    c.run("xylophone = [1, 2; 3, 4]; fn xylograph(first, second=2) { first }; t = (alpha_field=1, beta=2)")
    matches, start, end, kinds = complete("xylo")
    equal("names", (sorted(matches), start, end), (["xylograph", "xylophone"], 0, 4))
    kind = {k["text"]: k for k in kinds}
    equal("their kinds", (kind["xylophone"]["type"], kind["xylograph"]["type"]), ("instance", "function"))
    check("a signature", "second" in kind["xylograph"]["signature"], kind)
    equal("the places", (kind["xylophone"]["start"], kind["xylophone"]["end"]), (0, 4))
    wide = '"🙂𝒙é"; xylop'
    equal("code points", complete(wide)[:3], (["xylophone"], 7, 12))
    equal("in the middle", complete("xylo + 1", 4)[1:3], (0, 4))
    equal("a sign", complete("\\alpha")[:3], (["α"], 0, 6))
    equal("fields", complete("t.alp")[:3], (["alpha_field"], 2, 5))
    check("arguments", "second=" in complete("xylograph(1, sec")[0])
    check("formats", "bf16" in complete("precision bf")[0])
    check("devices", "cpu" in complete("on cp")[0])
    check("commands", "vars" in complete(":va")[0])
    with open(os.path.join(k_folder(c), "measured.csv"), "w") as file:
        file.write("1\n")
    check("files", any("measured.csv" in m for m in complete('load("meas')[0]))
    equal("nothing in a number", complete("12")[0], [])
    for cursor in (0, 3, 1000, -5):
        complete("🙂 + xyl", cursor)

    def inspect(code, cursor=None, detail=0):
        return c.ask("inspect_request", {"code": code, "cursor_pos": len(code) if cursor is None else cursor,
                                         "detail_level": detail})

    r = inspect("svd")
    check("help of an operation", r["found"] and "svd(" in r["data"]["text/plain"] and "```" in r["data"]["text/markdown"])
    r = inspect("1 + xylophone * 2", 8)
    check("a variable", r["found"] and "2×2 i64" in r["data"]["text/plain"] and "3" in r["data"]["text/plain"], r)
    check("the call around", "svd(" in inspect("svd(xyz_no_name, ")["data"]["text/plain"])
    check("a field", "int" in inspect("t.beta")["data"].get("text/plain", ""))
    r = inspect("xylograph", detail=1)
    check("the source", "fn xylograph(first, second=2)" in r["data"]["text/plain"] and "{" in r["data"]["text/plain"], r)
    equal("nothing", (inspect("no_such_name_at_all")["found"], inspect("")["found"], inspect("+")["found"]), (False, False, False))
    equal("a large variable is not read out", len(inspect("big")["data"].get("text/plain", "")) < 3000, True)
    c.run("big = zeros(1000, 1000)")
    check("but told of", "1000×1000" in inspect("big")["data"]["text/plain"] and len(inspect("big")["data"]["text/plain"]) < 4000)

    def whole(code):
        r = c.ask("is_complete_request", {"code": code})
        return r["status"], r.get("indent")

    equal("whole", [whole(s)[0] for s in ("1", "", "x = 1\n", ":vars", "!ls -l", "fn f(x) { x }")], ["complete"] * 6)
    equal("not whole", [whole(s)[0] for s in ("fn f(x) {", "[1,", "1 +", '`open', "try { 1 }")], ["incomplete"] * 5)
    equal("wrong", [whole(s)[0] for s in ("x = = 1", "1 2", ")")], ["invalid"] * 3)
    equal("the next line", [whole(s)[1] for s in ("fn f(x) {", "fn f(x) {\n    for i in x {", "fn f(x) {\n    y = 1", "1 +")],
          ["    ", "        ", "    ", ""])


def k_folder(c):
    return os.path.dirname(c.path)


def history():
    k = Kernel(ricci)
    c = k.client
    state = os.path.join(k.folder, "state", "ricci")
    os.makedirs(state, exist_ok=True)
    with open(os.path.join(state, "history"), "w") as file:
        file.write("typed = 1\nfor i in 1:2 {\\n  i\\n}\n")
    for code in ("h = 1", "h + 1", "print(h)", "h + 1", "🙂"):
        c.run(code)

    def ask(how, **more):
        return c.ask("history_request", {"hist_access_type": how, "output": False, "raw": True, **more})["history"]

    tail = ask("tail", n=5)
    equal("tail", [e[2] for e in tail], ["h = 1", "h + 1", "print(h)", "h + 1", "🙂"])
    session, line = tail[0][:2]
    equal("the numbers go up", [e[1] for e in tail], list(range(line, line + 5)))
    equal("range", [e[2] for e in ask("range", session=session, start=line, stop=line + 2)], ["h = 1", "h + 1"])
    equal("range of this session", [e[2] for e in ask("range", session=0, start=line, stop=line + 1)], ["h = 1"])
    equal("search", [e[2] for e in ask("search", pattern="h + *")], ["h + 1", "h + 1"])
    equal("search once", [e[2] for e in ask("search", pattern="h + *", unique=True)], ["h + 1"])
    equal("the newest n", [e[2] for e in ask("search", pattern="*h*", n=2)], ["print(h)", "h + 1"])
    equal("? is a character", [e[2] for e in ask("search", pattern="?")], ["🙂"])
    equal("with what they showed", [e[2] for e in ask("range", session=session, start=line, stop=line + 2, output=True)],
          [["h = 1", None], ["h + 1", "2"]])
    equal("the prompt's file", [e[2] for e in ask("search", pattern="typed*")], ["typed = 1"])
    equal("its entries of several lines", [e[2] for e in ask("search", pattern="for i in*")], ["for i in 1:2 {\n  i\n}"])
    check("stars", ask("search", pattern="*" * 40 + "nothing" + "*" * 40) == [])
    k.close()


# ---- messages ----
def messages(k):
    c = k.client
    equal("welcome", (c.welcome["type"], c.welcome["content"]), ("iopub_welcome", {"subscription": ""}))
    info = c.ask("kernel_info_request")
    equal("info", (info["status"], info["protocol_version"], info["implementation"], info["language_info"]["name"],
                   info["language_info"]["file_extension"]), ("ok", "5.4", "ricci", "ricci", ".ric"))
    name = c.send("kernel_info_request", channel=c.control)
    equal("on control", c.reply(name, c.control)["content"], info)
    equal("busy and idle there", [m["content"]["execution_state"] for m in c.published(name)], ["busy", "idle"])
    for kind, content, field in (("execute_request", {"code": "1 + 2"}, "execution_count"),
                                 ("complete_request", {"code": "ei", "cursor_pos": 2}, "matches"),
                                 ("inspect_request", {"code": "svd", "cursor_pos": 3}, "found"),
                                 ("is_complete_request", {"code": "1"}, "status"),
                                 ("history_request", {"hist_access_type": "tail", "n": 1}, "history"),
                                 ("comm_info_request", {}, "comms"), ("connect_request", {}, "shell_port")):
        name = c.send(kind, content, c.control)
        check(f"{kind} on control", field in c.reply(name, c.control)["content"])
        c.published(name)
    equal("connect", {p: c.ask("connect_request")[p] for p in ("shell_port", "hb_port")},
          {p: k.connection[p] for p in ("shell_port", "hb_port")})
    equal("no comms", c.ask("comm_info_request")["comms"], {})
    name = c.send("comm_open", {"comm_id": "c1", "target_name": "widget", "data": {}})
    equal("a comm is closed", [(m["type"], m["content"].get("comm_id")) for m in c.published(name)][1:-1], [("comm_close", "c1")])
    for kind in ("comm_msg", "comm_close", "debug_request", "never_heard_of"):
        equal(f"{kind}: no reply", types(c.published(c.send(kind, {"comm_id": "c1", "data": {}}))), ["status", "status"])
    hb = c.socket("hb", "REQ")
    for beat in (b"ping", b"\0" * 1000):
        hb.send([b"", beat])
        equal("heartbeat", hb.receive(), [b"", beat])
    hb.close()


def broken(k):
    c = k.client
    _, good = c.message("kernel_info_request", {})
    wrong = [good[:1] + [b"0" * 64] + good[2:], good[:1] + [b""] + good[2:], good[1:], good[:4], [b""], [b"<IDS|MSG>"],
             [b"x"] * 100, [b"<IDS|MSG>"] * 7]
    for content in (b"{", b"[]", b"null", b"\xff", b"[" * 100000, b'{"a":' * 200 + b"1" + b"}" * 200, b""):
        for at in range(4):
            parts = list(good[2:])
            parts[at] = content
            wrong.append([b"<IDS|MSG>", c.sign(parts)] + parts)
    for header in ({}, {"msg_type": "kernel_info_request"}, {"msg_id": "1"}, {"msg_id": 1, "msg_type": 2}):
        parts = [json.dumps(header).encode()] + list(good[3:])
        wrong.append([b"<IDS|MSG>", c.sign(parts)] + parts)
    for frames in wrong:
        c.shell.send(frames)
        c.control.send(frames)
    check("the kernel lives", c.ask("kernel_info_request")["status"] == "ok")
    name = c.send("kernel_info_request", channel=c.control)
    check("its control too", c.reply(name, c.control)["content"]["status"] == "ok")
    said = k.said()
    check("it says what it dropped, line by line", said.count("was dropped: ") >= 2 * len(wrong) - 2, (said.count("dropped"), len(wrong)))
    check("and where", "on shell" in said and "on control" in said and "signature" in said)
    for content in ({"code": 5}, {}, {"code": None, "silent": "yes"}, {"code": "1", "user_expressions": [1]}):
        name = c.send("execute_request", content)
        check("odd contents", "status" in c.reply(name)["content"])
        c.published(name)
    for code in ("1\u0000", "\u0000", "x = \"\ud83d\""):
        reply = c.run(code)[0]
        check("a character that is none", reply["status"] in ("ok", "error"), reply)
    for kind in ("complete_request", "inspect_request", "is_complete_request", "history_request"):
        for content in ({}, {"code": 1, "cursor_pos": "x"}, {"code": "x", "cursor_pos": 10**18}, {"code": "é", "cursor_pos": -7}):
            check(f"{kind} {content}", c.ask(kind, content)["status"] in ("ok", "complete", "incomplete", "invalid"))
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 200, os.urandom(500)):     # no ZMTP at all
        import socket as plain
        s = plain.create_connection((k.connection["ip"], k.connection["shell_port"]))
        s.sendall(junk)
        s.close()
    s = c.socket("shell", "DEALER")
    s.raw.sendall(b"\x02" + struct.pack(">Q", 1 << 40) + b"x" * 1000)           # a frame of a terabyte
    s.close()
    equal("a cell of 5 MB", types(c.run("# " + "x" * (5 << 20))[1]), ["execute_input"])
    check("strangers do no harm", c.ask("kernel_info_request")["status"] == "ok")


def two_clients(k):
    first, second = k.client, Client(k.connection)
    a, b = first.start("p = 1; print(\"from the first\")"), second.start("q = 2; print(\"from the second\")")
    equal("each has its reply", (first.reply(a)["content"]["status"], second.reply(b)["content"]["status"]), ("ok", "ok"))
    for c in (first, second):
        seen = {a: "", b: ""}
        done = 0
        while done < 2:
            m = c.read(c.iopub)
            if m["parent"] in seen and m["type"] == "stream":
                seen[m["parent"]] += m["content"]["text"]
            done += m["parent"] in seen and m["content"].get("execution_state") == "idle"
        equal("both see everything", seen, {a: "from the first\n", b: "from the second\n"})
    equal("they share the variables", results(second.run("p + q")[1]), [{"text/plain": "3"}])
    second.close()
    equal("one goes, the other stays", results(first.run("p")[1]), [{"text/plain": "1"}])


# ---- stopping ----
def interrupts(k):
    c = k.client
    c.run("kept = 11; A = rand(1500, 1500); extern \"libc.so.6\" { int usleep(unsigned int us); int pause(void); }")
    programs = ["while true { }", "for i in 1:10^12 { sin(i) }", "svd(rand(2500, 2500))", "eig(rand(1500, 1500))", "pause()",
                "while true { usleep(1000) }", "!sleep 1000", "while true { try { throw 1 } catch e { } }",
                "fn f(n) { f(n + 1) }; while true { try { f(0) } catch e { } }", "s = 0; while true { s = s + sum(A @ A) }",
                "precision mp(2000) { x = 1; while true { x = sin(x) } }"]
    for way in ("signal", "request"):
        for program in programs:
            name = c.start(program)
            c.published(name, lambda m: m["type"] == "execute_input")
            time.sleep(0.15)                       # it is well inside
            start = time.monotonic()
            if way == "signal":
                k.signal()
            else:
                asked = c.send("interrupt_request", channel=c.control)
                equal("the request is answered", c.reply(asked, c.control)["content"], {"status": "ok"})
            reply = c.reply(name)["content"]
            late = time.monotonic() - start
            c.published(name)
            if os.environ.get("RICCI_TIMES"):
                print(f"{way}: {late:.3f} s  {program[:50]}")
            equal(f"{program[:40]} by a {way}", (reply["status"], reply.get("ename")), ("error", "interrupt"))
    equal("variables stay", results(c.run("kept")[1]), [{"text/plain": "11"}])
    for _ in range(3):
        k.signal()
        asked = c.send("interrupt_request", channel=c.control)
        c.reply(asked, c.control)
    time.sleep(0.2)
    equal("nothing happens when idle", results(c.run("s = 0; for i in 1:1000 { s += i }; s; kept")[1]), [{"text/plain": "11"}])


def shutdowns():
    for code in (None, "while true { }", "svd(rand(2500, 2500))", "!sleep 1000"):
        for channel in ("control", "shell"):
            if code and channel == "shell":
                continue
            k = Kernel(ricci)
            c = k.client
            folder = results(c.run("tempdir()")[1])[0]["text/plain"].strip('"')
            if code:
                c.published(c.start(code), lambda m: m["type"] == "execute_input")
            name = c.send("shutdown_request", {"restart": code is None}, getattr(c, channel))
            equal("shutdown is answered", c.reply(name, getattr(c, channel))["content"],
                  {"status": "ok", "restart": code is None})
            check(f"the kernel ends: {code}, {channel}", k.ended())
            check("its folder is gone", not os.path.exists(folder), folder)
            k.close()
    k = Kernel(ricci)
    k.client.run("x = 1")
    equal("a new one is empty", k.client.run("x")[0]["status"], "ok")
    k.close()
    k = Kernel(ricci)
    equal("as a restart is", k.client.run("x")[0]["ename"], "name")
    k.close()
    for code in (None, "while true { }"):
        k = Kernel(ricci, through=["sh", "-c", '"$@" & echo $! > pid; wait', "sh"])
        if code:
            k.client.published(k.client.start(code), lambda m: m["type"] == "execute_input")
        with open(os.path.join(k.folder, "pid")) as file:
            kernel = int(file.read())
        k.process.kill()                           # the shell between us
        k.process.wait()
        deadline = time.monotonic() + 30
        while os.path.exists(f"/proc/{kernel}") and time.monotonic() < deadline:
            time.sleep(0.05)
        check("it ends with its parent", not os.path.exists(f"/proc/{kernel}"))
        k.close()


def native_crash(k):
    c = k.client
    c.run('before = 5; extern "libc.so.6" { size_t strlen(void *s); int raise(int s); }')
    reply = c.run("strlen(pointer(8))")[0]
    if reply["status"] == "error" and reply["ename"] == "name":
        reply = c.run("strlen(8)")[0]
    equal("a crash in C is the cell's error", reply["status"], "error")
    equal("the kernel goes on", results(c.run("before")[1]), [{"text/plain": "5"}])


# ---- long lives ----
def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s*(\d+)", file.read())[1])


def many_cells():
    k = Kernel(ricci)
    c = k.client
    sizes = []
    total = int(os.environ.get("CELLS", "2000"))   # 10000 in `make check-deep`
    for block in range(10):
        for batch in range(total // 200):
            names = [c.start(f"v = [{i}, 2]; v; print({i}); v + 1") for i in range(20)]
            for n in names:
                c.published(n)
                c.reply(n)
        sizes.append(resident(k.process.pid))
    # What is kept of a cell is its text and the first of what it showed: some 100 bytes.
    check(f"{total} cells at constant memory", sizes[-1] - sizes[1] < 1000 + total // 4, sizes)
    before = 0
    for turn in range(60):
        c.run("plot(rand(10))")
        c.run("missing_name")
        c.run(":time 1\n" * 100)
        if turn == 20:
            before = resident(k.process.pid)
    check("pictures and errors too", resident(k.process.pid) - before < 1500, (before, resident(k.process.pid)))
    k.close()


# ---- files ----
def png_is_whole(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return False
    at, raw = 8, b""
    while at < len(data):
        n = struct.unpack(">I", data[at:at + 4])[0]
        body = data[at + 4:at + 8 + n]
        if zlib.crc32(body) != struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0]:
            return False
        raw += body[4:] if body[:4] == b"IDAT" else b""
        at += 12 + n
    return struct.unpack(">II", data[16:24]) == (64, 64) and len(zlib.decompress(raw)) == 64 * (1 + 4 * 64)


def installing():
    with tempfile.TemporaryDirectory() as folder:
        home = os.path.join(folder, "home")
        clean = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "JUPYTER_DATA_DIR", "XDG_DATA_HOME")}

        def tool(*words, **env):
            p = subprocess.run([ricci, "jupyter", *words], capture_output=True, text=True, env={**clean, "HOME": home, **env})
            return p.returncode, p.stdout, p.stderr

        where = os.path.join(home, ".local/share/jupyter/kernels/ricci")
        equal("install", tool("install"), (0, where + "\n", ""))
        with open(os.path.join(where, "kernel.json")) as file:
            spec = json.load(file)
        equal("what runs", spec["argv"], [os.path.realpath(ricci), "jupyter", "run", "{connection_file}"])
        equal("what it is", (spec["display_name"], spec["language"]), ("Ricci", "ricci"))
        with open(os.path.join(where, "logo-64x64.png"), "rb") as file:
            check("a PNG of 64 pixels", png_is_whole(file.read()))
        check("an SVG", ElementTree.parse(os.path.join(where, "logo-svg.svg")).getroot().tag.endswith("svg"))
        equal("again, under a title", tool("install", "--display-name", 'A "B"')[0], 0)
        with open(os.path.join(where, "kernel.json")) as file:
            equal("it replaces", json.load(file)["display_name"], 'A "B"')
        prefix = os.path.join(folder, "p q")
        there = os.path.join(prefix, "share/jupyter/kernels/other.one")
        equal("--prefix and --name", tool("install", "--prefix", prefix, "--name", "other.one"), (0, there + "\n", ""))
        equal("--sys-prefix", tool("install", "--sys-prefix", VIRTUAL_ENV=prefix)[1], os.path.join(prefix, "share/jupyter/kernels/ricci\n"))
        check("list", where in tool("list")[1] and "other.one" in tool("list", VIRTUAL_ENV=prefix)[1])
        equal("uninstall", tool("uninstall"), (0, f"removed {where}\n", ""))
        check("it is gone", not os.path.exists(where))
        status, _, said = tool("uninstall")
        check("twice is an error", status == 1 and "error[io]" in said, said)
        os.makedirs(where)
        with open(os.path.join(where, "kernel.json"), "w") as file:
            file.write('{"language": "python"}')
        check("a stranger's stays", tool("uninstall")[0] == 1 and os.path.exists(os.path.join(where, "kernel.json")))
        for words in (["install", "--name", "../x"], ["install", "--name", ""], ["install", "--name", "a/b"]):
            check(f"{words}", tool(*words)[0] == 1)
        for words in ([], ["instal"], ["run"], ["install", "more"], ["install", "--user", "--prefix", "x"], ["run", "--nmae", "x"]):
            status, _, said = tool(*words)
            check(f"{words}: a usage error", status == 2 and "ricci" in said, (status, said))
        check("no such file", "error[io]" in tool("run", os.path.join(folder, "none.json"))[2])
        for text in ("", "[]", "{}", '{"shell_port": 0}', '{"shell_port": "1"}', "{" * 1000):
            path = os.path.join(folder, "c.json")
            with open(path, "w") as file:
                file.write(text)
            status, _, said = tool("run", path)
            check(f"connection file {text[:20]!r}", status == 1 and said.startswith("error["), said)


def others():
    k = Kernel(ricci, transport="ipc", key="")
    equal("over a Unix socket, without signatures", results(k.client.run("3")[1]), [{"text/plain": "3"}])
    k.close()


def encrypted():
    """CurveZMQ, with libzmq itself as the client: who has the keys is answered, who has not is not heard."""
    zmq = ctypes.CDLL("libzmq.so.5")
    if not zmq.zmq_has(b"curve"):
        print("not run: CurveZMQ: this libzmq has none")
        return
    for name in ("zmq_ctx_new", "zmq_socket"):
        getattr(zmq, name).restype = ctypes.c_void_p
    pair = [ctypes.create_string_buffer(41) for _ in range(4)]
    public, secret, my_public, my_secret = pair
    zmq.zmq_curve_keypair(public, secret)
    zmq.zmq_curve_keypair(my_public, my_secret)
    k = Kernel(ricci, curve={"curve_publickey": public.value.decode(), "curve_secretkey": secret.value.decode()})
    context = ctypes.c_void_p(zmq.zmq_ctx_new())
    speaker = Client.__new__(Client)
    speaker.connection, speaker.session = k.connection, "s"
    _, frames = speaker.message("kernel_info_request", {})
    for keys in (True, False):
        s = ctypes.c_void_p(zmq.zmq_socket(context, 5))
        for option, value in ((48, my_public), (49, my_secret), (50, public)) if keys else ():
            zmq.zmq_setsockopt(s, option, value.value, ctypes.c_size_t(40))
        wait = ctypes.c_int(20000 if keys else 300)
        zmq.zmq_setsockopt(s, 27, ctypes.byref(wait), ctypes.c_size_t(4))
        zmq.zmq_setsockopt(s, 17, ctypes.byref(ctypes.c_int(0)), ctypes.c_size_t(4))
        zmq.zmq_connect(s, f"tcp://127.0.0.1:{k.connection['shell_port']}".encode())
        for i, frame in enumerate(frames):
            zmq.zmq_send(s, frame, ctypes.c_size_t(len(frame)), 2 if i + 1 < len(frames) else 0)
        answer = ctypes.create_string_buffer(10000)
        equal(f"an answer over CurveZMQ, keys {keys}", zmq.zmq_recv(s, answer, ctypes.c_size_t(10000), 0) == 9, keys)
        zmq.zmq_close(s)
    zmq.zmq_ctx_term(context)
    k.close()


ON_CLIENT = (cells, commands, errors, options, rich, asking)
ON_KERNEL = (streams, messages, broken, two_clients, interrupts, native_crash)
ALONE = (history, shutdowns, others, encrypted, installing, many_cells)


def run(parts):
    """The parts, those that share a kernel with one."""
    k = None
    for part in parts:
        start = time.monotonic()
        if part in ALONE:
            part()
        else:
            if not k:
                k = Kernel(ricci)
                k.client.path = k.path
            part(k.client if part in ON_CLIENT else k)
        if os.environ.get("RICCI_TIMES"):
            print(f"{part.__name__}: {time.monotonic() - start:.1f} s")
    if k:
        check("it is alive", k.process.poll() is None)
        k.client.send("shutdown_request", {"restart": False}, k.client.control)
        check("it ends well", k.ended() and k.process.returncode == 0, (k.process.poll(), k.said()[-3000:]))
        k.close()
    print(f"{passed} passed, {failed} failed")
    return failed != 0


def main():
    if not there_is_zmq():
        print("not run: the kernel of notebooks: there is no libzmq (Debian: libzmq5)")
        return run([installing])
    return run([globals()[name] for name in sys.argv[1:]] or ON_CLIENT + ON_KERNEL + ALONE)


if __name__ == "__main__":
    sys.exit(main())
