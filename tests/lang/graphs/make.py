#!/usr/bin/env python3
"""Writes bad/*.rgraph: archives that are no graph, each wrong in one place. hostile.ric loads them all."""
import copy
import io
import json
import os
import struct
import zipfile

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad"))
STAMP = (1980, 1, 1, 0, 0, 0)


def npy(descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


GOOD = {
    "format": "ricci graph", "version": 1, "name": "f", "parameters": ["x"],
    "arguments": {"tuple": [{"node": 0}]}, "result": {"node": 2},
    "nodes": [
        {"op": "(argument)", "dtype": "f64", "shape": [2]},
        {"op": "multiply", "of": [{"node": 0}, {"constant": 0}], "dtype": "f64", "shape": [2]},
        {"op": "sum", "of": [{"node": 1}, {"given": False}, {"given": False}], "dtype": "f64", "shape": []},
    ],
    "lines": [], "scopes": [], "devices": [],
    "constants": [{"dtype": "f64", "shape": [2]}],
}
C0 = npy("<f8", "(2,)", struct.pack("<2d", 1.5, 2.5))


def archive(text, members, how=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in [("graph.json", text)] + members:
            if data is not None:
                z.writestr(zipfile.ZipInfo(name, STAMP), data, how)
    return out.getvalue()


def put(name, data):
    with open(name + ".rgraph", "wb") as f:
        f.write(data)


def wrong(name, change, members=None, **more):
    graph = copy.deepcopy(GOOD)
    change(graph)
    put(name, archive(json.dumps(graph), [("c0.npy", C0)] if members is None else members, **more))


def node(i, **what):
    def change(g):
        g["nodes"][i].update(what)
    return change


def top(**what):
    def change(g):
        g.update(what)
    return change


good = archive(json.dumps(GOOD), [("c0.npy", C0)])
put("../good", good)
put("cut", good[:len(good) // 2])
put("cut_end", good[:-10])
put("empty", b"")
put("no_json", archive(None, [("c0.npy", C0)]))
put("no_object", archive("[1, 2]", []))
put("json_cut", archive(json.dumps(GOOD)[:-20], [("c0.npy", C0)]))
put("json_deep", archive("[" * 5000 + "]" * 5000, []))
put("json_more", archive(json.dumps(GOOD) + " 1", [("c0.npy", C0)]))
put("json_number", archive(json.dumps(GOOD).replace("1,", "99999999999999999999,", 1), [("c0.npy", C0)]))
put("json_twice", archive('{"format": "ricci graph", "format": "ricci graph"}', []))
put("checksum", good.replace(b"ricci graph", b"ricci Graph", 1))
wrong("other", top(format="another graph"))
wrong("version", top(version=2))
wrong("member", top(), [("c0.npy", C0), ("../evil.npy", C0)])
wrong("member_more", top(), [("c0.npy", C0), ("c1.npy", C0)])
wrong("member_none", top(), [])
wrong("member_twice", top(), [("c0.npy", C0), ("c0.npy", C0)])
wrong("member_name", top(), [("c00.npy", C0)])
wrong("bomb", top(about="x" * 1000), [("c0.npy", C0 + b"\0" * 4000000)], how=zipfile.ZIP_DEFLATED)
wrong("constant_shape", lambda g: g["constants"][0].update(shape=[3]))
wrong("constant_dtype", lambda g: g["constants"][0].update(dtype="f32"))
wrong("constant_huge", lambda g: g["constants"][0].update(shape=[2**40, 2**40]))
wrong("constant_unknown", lambda g: g["constants"][0].update(dtype="f31"))
wrong("constant_mp", lambda g: g["constants"][0].update(dtype="mp(99999999)"))
wrong("constant_text", lambda g: g["constants"][0].update(dtype="rational", text=["1/2", "x"]), [])
wrong("constant_texts", lambda g: g["constants"][0].update(dtype="rational", text=["1/2"]), [])
wrong("constant_zero", lambda g: g["constants"][0].update(dtype="rational", text=["1/0", "1"]), [])
wrong("constant_mini", lambda g: g["constants"][0].update(dtype="bf16"))
wrong("cycle", node(1, of=[{"node": 2}, {"node": 0}]))
wrong("self", node(1, of=[{"node": 1}, {"node": 0}]))
wrong("before", node(1, of=[{"node": -1}, {"node": 0}]))
wrong("far", node(1, of=[{"node": 2**40}, {"node": 0}]))
wrong("no_constant", node(1, of=[{"node": 0}, {"constant": 1}]))
wrong("unknown", node(1, op="multiply_all"))
wrong("writes", node(1, op="write", of=["/tmp/evil", "text", {"given": False}]))
wrong("loads", node(1, op="load", of=["/etc/passwd"]))
wrong("environment", node(1, op="env", of=["HOME"]))
wrong("prints", node(1, op="print", of=[{"node": 0}]))
wrong("maps", node(1, op="map", of=[{"operation": "write"}, {"node": 0}]))
wrong("function", node(1, of=[{"node": 0}, {"operation": "write"}]))
wrong("few", node(1, of=[{"node": 0}]))
wrong("many", node(1, of=[{"node": 0}] * 3))
wrong("missing", node(1, of=[{"node": 0}, {"given": False}]))
wrong("operand", node(1, of=[{"node": 0}, {"lambda": "x -> x"}]))
wrong("operand_list", node(1, of=[{"node": 0}, [1, 2]]))
wrong("operand_float", node(1, of=[{"node": 0}, {"float": "1.5x"}]))
wrong("weak", node(1, weak=-1))
wrong("scope", node(1, scope=0))
wrong("scope_int", lambda g: (g["scopes"].append({"precision": "i64"}), node(1, scope=0)(g)))
wrong("scope_sum", lambda g: g["scopes"].append({"precision": "decimal(3)", "accumulate": "f32"}))
wrong("scope_round", lambda g: g["scopes"].append({"precision": "f32", "round": "sideways"}))
wrong("scope_cast", lambda g: g["scopes"].append({"autocast": "rational"}))
wrong("device", lambda g: g["devices"].append({"device": "sim.nowhere", "fallback": "cpu"}))
wrong("line", node(1, line=3))
wrong("notation", node(1, op="(notation)", of=["p0 -> { write(\"/tmp/evil\", \"x\") }", {"node": 0}]))
wrong("notation_run", node(1, op="(notation)", of=["write(\"/tmp/evil\", \"x\")", {"node": 0}]))
wrong("notation_loop", node(1, op="(notation)", of=["p0 -> { while true { 1 } }", {"node": 0}]))
wrong("notation_import", node(1, op="(notation)", of=["p0 -> { import stats\n y[i] := p0[i]\n y }", {"node": 0}]))
wrong("notation_syntax", node(1, op="(notation)", of=["p0 -> { y[i] := p0[i", {"node": 0}]))
wrong("notation_default", node(1, op="(notation)", of=["(p0, p1=env(\"HOME\")) -> { y[i] := p0[i]\n y }", {"node": 0}, 1]))
wrong("notation_many", node(1, op="(notation)", of=["(p0, p1) -> { y[i] := p0[i]\n y }", {"node": 0}]))
wrong("subs", node(1, op="(subscript)", of=[{"node": 0}, 0, 1]))
wrong("subs_kind", node(1, op="(subscript)", of=[{"node": 0}, 7, 1, {"given": False}, {"given": False}]))
wrong("subs_many", node(1, op="(subscript)", of=[{"node": 0}] + [0, 1, {"given": False}, {"given": False}] * 100))
wrong("slice", node(1, op="(subscript)", of=[{"node": 0}, 1, {"node": 0}, {"given": False}, {"given": False}]))
wrong("store", node(1, op="(store)", of=[{"node": 0}]))
wrong("store_by", node(1, op="(store)", by="sum", of=[{"node": 0}, 1, 0, 1, {"given": False}, {"given": False}]))
wrong("literal", node(1, op="(literal)", of=[{"tuple": [2, 2]}, None, 1, 2, {"node": 0}]))
wrong("literal_weak", node(1, op="(literal)", of=[None, {"tuple": [True]}, 1, 2]))
wrong("literal_none", node(1, op="(literal)", of=[None, None]))
wrong("field", node(1, op="(field)", of=[{"node": 0}], at=-1))
wrong("guard", node(1, op="(expect)", of=[{"node": 0}, 2], at=0))
wrong("guard_axis", lambda g: g["nodes"].append({"op": "(expect)", "of": [{"node": 0}, "two"], "at": 0}))
wrong("argument", node(1, op="(argument)", of=[], dtype="f64", shape=[2]))
wrong("argument_twice", top(parameters=["x", "y"], arguments={"tuple": [{"node": 0}, {"node": 0}]}))
wrong("argument_none", top(parameters=[], arguments={"tuple": []}))
wrong("argument_node", top(arguments={"tuple": [{"node": 1}]}))
wrong("parameters", top(parameters=["x", "y"]))
wrong("parameter_name", top(parameters=["\u001b[31mx"]))
wrong("result", top(result={"node": 3}))
wrong("result_type", lambda g: g["nodes"][2].pop("dtype"))
wrong("result_none", top(result={"given": False}))
wrong("nodes", top(nodes={"op": 1}))
wrong("tuple", top(result={"tuple": [1, 2], "names": ["a"]}))
wrong("tuple_twice", top(result={"tuple": [1, 2], "names": ["a", "a"]}))

# Products in codes: matmul_i8(x, w, scale, scales, zero, bias, activation), product_i8 with a text in third place.
W, S, B = npy("|i1", "(2, 3)", bytes([1, 2, 3, 4, 5, 6])), npy("<f4", "(3,)", struct.pack("<3f", 1, 2, 3)), struct.pack("<3f", 0, 1, 2)
MEMBERS = [("c0.npy", W), ("c1.npy", S), ("c2.npy", npy("<f4", "(3,)", B))]
TEXT = "(p0, p1) -> {\n    y[j] := p0[i] * p1[i,j]\n    y\n}"
MATMUL = [{"node": 0}, {"constant": 0}, {"float": "0.5"}, {"constant": 1}, 0, {"constant": 2}, {"operation": "relu"}]
CODED = {**GOOD, "result": {"node": 1}, "nodes": [
    {"op": "(argument)", "dtype": "f32", "shape": [2]},
    {"op": "matmul_i8", "of": MATMUL, "dtype": "f32", "shape": [3]}],
    "constants": [{"dtype": "i8", "shape": [2, 3]}, {"dtype": "f32", "shape": [3]}, {"dtype": "f32", "shape": [3]}]}
put("../good_codes", archive(json.dumps(CODED), MEMBERS))


def coded(name, at, what, members=None, **constant):
    graph = copy.deepcopy(CODED)
    graph["nodes"][1]["of"][at] = what
    for number, form in constant.items():
        graph["constants"][int(number[1:])].update(form)
    put("codes_" + name, archive(json.dumps(graph), MEMBERS if members is None else members))


def by_text(name, text, axis=-1):
    graph = copy.deepcopy(CODED)
    graph["nodes"][1].update(op="product_i8", of=MATMUL[:2] + [text] + MATMUL[2:5] + [axis] + MATMUL[5:])
    put(name, archive(json.dumps(graph), MEMBERS))


def scales(name, *values):
    data = npy("<f4", f"({len(values)},)", struct.pack(f"<{len(values)}f", *values))
    coded(name, 3, {"constant": 1}, [MEMBERS[0], ("c1.npy", data), MEMBERS[2]], c1={"shape": [len(values)]})


by_text("../good_product", TEXT)
coded("weights_floats", 1, {"constant": 2})
coded("weights_u8", 1, {"constant": 0}, [("c0.npy", npy("|u1", "(2, 3)", bytes(6)))] + MEMBERS[1:], c0={"dtype": "u8"})
coded("weights_rank", 1, {"constant": 0}, [("c0.npy", npy("|i1", "(6,)", bytes(6)))] + MEMBERS[1:], c0={"shape": [6]})
coded("weights_turned", 1, {"constant": 0}, [("c0.npy", npy("|i1", "(3, 2)", bytes(6)))] + MEMBERS[1:], c0={"shape": [3, 2]})
coded("weights_number", 1, 3)
coded("scale_nan", 2, {"float": "nan"})
coded("scale_negative", 2, {"float": "-0.5"})
coded("scale_zero", 2, {"float": "0"})
coded("scale_inf", 2, {"float": "inf"})
coded("scale_text", 2, "0.5")
coded("scale_vector", 2, {"constant": 1})
scales("scales_nan", 1, float("nan"), 3)
scales("scales_negative", 1, 2, -3)
scales("scales_few", 1, 2)
coded("scales_none", 3, None)
coded("scales_codes", 3, {"constant": 0})
coded("zero_huge", 4, 2**62)
coded("zero_low", 4, -129)
coded("zero_float", 4, {"float": "1"})
coded("bias_few", 5, {"float": "1"})
coded("bias_text", 5, "1")
coded("activation", 6, {"operation": "tanh"})
coded("activation_text", 6, "relu")
coded("activation_number", 6, 1)
by_text("codes_text_writes", "(p0, p1) -> write(\"/tmp/evil\", \"x\")")
by_text("codes_text_one", "p0 -> p0")
by_text("codes_text_syntax", "(p0, p1) -> p0 *")
by_text("codes_text_number", 3)
