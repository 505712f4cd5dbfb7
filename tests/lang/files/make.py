#!/usr/bin/env python3
"""Writes the files that the tests of load read: good/ as NumPy and the safetensors package
write them, bad/ damaged in one place each. Run it after a change here; the files are kept
in git, so that the tests need no Python. Only the standard library is used, so that what
is expected does not come from the program under test."""
import io
import json
import os
import struct
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))


def put(name, data):
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(data)


def npy_raw(head, data=b"", version=(1, 0)):
    head = head.encode("utf-8")
    wide = version[0] > 1
    start = 12 if wide else 10
    head += b" " * ((-(start + len(head) + 1)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<I" if wide else "<H", len(head)) + head + data


def npy(descr, shape, data, fortran=False, version=(1, 0)):
    return npy_raw("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape), data, version)


F6 = struct.pack("<6d", 1, 2, 3, 4, 5, 6)

# ---- good .npy ----
put("good/v1.npy", npy("<f8", (2, 3), F6))
put("good/v2.npy", npy("<f8", (2, 3), F6, version=(2, 0)))
put("good/v3.npy", npy("<f8", (2, 3), F6, version=(3, 0)))
put("good/fortran.npy", npy("<f8", (2, 3), F6, fortran=True))
put("good/scalar.npy", npy("<f8", (), struct.pack("<d", 2.5)))
put("good/empty.npy", npy("<f4", (0, 3), b""))
put("good/python2.npy", npy_raw("{'shape': (3L,), 'fortran_order': False, 'descr': '<i4'}", struct.pack("<3i", 7, 8, 9)))
put("good/trailing.npy", npy("|u1", (2,), b"\1\2more"))
put("good/bool.npy", npy("|b1", (4,), b"\0\1\2\xff"))
VALUES = {"i1": (-128, 127), "u1": (0, 255), "i2": (-32768, 32767), "u2": (0, 65535), "i4": (-2**31, 2**31 - 1),
          "u4": (0, 2**32 - 1), "i8": (-2**63, 2**63 - 1), "u8": (0, 2**63 - 1), "f2": (0.5, -65504.0),
          "f4": (0.1, -3e38), "f8": (0.1, -1e308)}
CODES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f2": "e", "f4": "f",
         "f8": "d"}
for name, pair in VALUES.items():
    for mark, word in (("<", "little"), (">", "big")):
        put("good/%s_%s.npy" % (name, word), npy(mark + name, (2,), struct.pack(mark + "2" + CODES[name], *pair)))
for name, code in (("c8", "f"), ("c16", "d")):
    for mark, word in (("<", "little"), (">", "big")):
        put("good/%s_%s.npy" % (name, word), npy(mark + name, (2,), struct.pack(mark + "4" + code, 1, 2, -3, 0.5)))

# ---- bad .npy ----
GOOD = npy("<f8", (2, 3), F6)
HEAD = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"
BAD_NPY = {
    "nothing": b"", "magic": b"PK\3\4" + GOOD, "cut_length": GOOD[:9], "cut_length2": npy_raw(HEAD, F6, (2, 0))[:11],
    "cut_header": GOOD[:40], "cut_data": GOOD[:-1], "version": npy_raw(HEAD, F6, (4, 0)),
    "minor": npy_raw(HEAD, F6, (1, 7)), "long_header": b"\x93NUMPY\2\0\xff\xff\xff\x7f" + b" " * 20,
    "no_dictionary": npy_raw("[1, 2]", F6), "open": npy_raw("{'descr': '<f8'", F6),
    "unclosed": npy_raw("{'descr': '<f8, }", F6), "no_shape": npy_raw("{'descr': '<f8', 'fortran_order': False}", F6),
    "twice": npy_raw("{'descr': '<f8', 'descr': '<f8'}", F6), "unknown_key": npy_raw("{'data': 1}", F6),
    "more": npy_raw(HEAD + " 1", F6), "no_colon": npy_raw("{'descr' '<f8'}", F6),
    "order": npy_raw("{'descr': '<f8', 'fortran_order': 1, 'shape': (2, 3)}", F6),
    "negative": npy("<f8", (-2, 3), F6), "float_shape": npy("<f8", "(2.0, 3)", F6), "list_shape": npy("<f8", [2, 3], F6),
    "huge_axis": npy("<f8", (10**30,), F6), "product": npy("<f8", (2**32, 2**32), F6),
    "bytes_product": npy("<f8", (2**61,), F6), "too_large": npy("<f8", (10**12,), F6),
    "empty_huge": npy("<f8", (0, 2**40, 2**40), b""), "axes": npy("<f8", (1,) * 33, F6),
    "object": npy("|O", (1,), b"\x80\4K\1."), "text": npy("<U5", (1,), b"a\0\0\0" * 5), "bytes": npy("|S3", (1,), b"abc"),
    "date": npy("<M8[ns]", (1,), b"\0" * 8), "void": npy("|V2", (1,), b"ab"), "longdouble": npy("<f16", (1,), b"\0" * 16),
    "width": npy("<i3", (1,), b"\0" * 3), "endless": npy("<i999999999999", (1,), b"\0"),
    "structured": npy_raw("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", F6),
    "u8_large": npy("<u8", (2,), struct.pack("<2Q", 1, 2**63)),
    "u8_large_big": npy(">u8", (2,), struct.pack(">2Q", 1, 2**64 - 1)),
}
for name, data in BAD_NPY.items():
    put("bad/%s.npy" % name, data)


# ---- .npz ----
def archive(members, method=zipfile.ZIP_STORED, wide=False, comment=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        z.comment = comment
        for name, data in members:
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.compress_type = method
            with z.open(info, "w", force_zip64=wide) as member:
                member.write(data)
    return out.getvalue()


class Pipe(io.RawIOBase):
    """A place that cannot seek: zipfile then writes data descriptors."""
    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


A, B = npy("<f8", (2, 3), F6), npy("<i2", (3,), struct.pack("<3h", -1, 0, 300))
TWO = [("A.npy", A), ("b.npy", B)]
put("good/stored.npz", archive(TWO))
put("good/deflated.npz", archive(TWO, zipfile.ZIP_DEFLATED))
put("good/forced64.npz", archive(TWO, wide=True))
put("good/comment.npz", archive(TWO, comment=b"PK\5\6 is no end"))
put("good/names.npz", archive([("layer.0/w.npy", B), ("\u03bb.npy", B), ("two words.npy", B), ("x.npy", B)]))
put("good/others.npz", archive([("folder/", b""), ("readme.txt", b"text"), ("x.npy", B)]))
put("good/none.npz", archive([]))
pipe = Pipe()
with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as z:
    for name, data in TWO:
        z.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
put("good/descriptor.npz", pipe.data)


def entry(data, n=0):
    at = data.index(b"PK\1\2")
    for _ in range(n):
        at = data.index(b"PK\1\2", at + 4)
    return at


def patch(data, at, new):
    return data[:at] + new + data[at + len(new):]


def end64(data):
    """The same archive with a zip64 end record, whose plain one says nothing."""
    end = data.rindex(b"PK\5\6")
    count, size, start = struct.unpack("<HII", data[end + 10:end + 20])
    record = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<IIQI", 0x07064b50, 0, end, 1)
    plain = struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)
    return data[:end] + record + locator + plain


def entry64(data):
    """The first entry's sizes and place in a zip64 extra field."""
    at = entry(data)
    packed, size, name = struct.unpack("<IIH", data[at + 20:at + 30])
    place, = struct.unpack("<I", data[at + 42:at + 46])
    extra = struct.pack("<HHQQQ", 1, 24, size, packed, place)
    wide = patch(patch(patch(data, at + 20, b"\xff" * 8), at + 30, struct.pack("<H", len(extra))), at + 42, b"\xff" * 4)
    wide = wide[:at + 46 + name] + extra + wide[at + 46 + name:]
    end = wide.rindex(b"PK\5\6")
    size, = struct.unpack("<I", wide[end + 12:end + 16])
    return patch(wide, end + 12, struct.pack("<I", size + len(extra)))


STORED, DEFLATED = archive(TWO), archive(TWO, zipfile.ZIP_DEFLATED)
put("good/end64.npz", end64(entry64(STORED)))
END, FIRST = STORED.rindex(b"PK\5\6"), entry(STORED)
DFIRST = entry(DEFLATED)
bomb = archive([("a.npy", npy("<f8", (1000,), b"\0" * 8000))], zipfile.ZIP_DEFLATED)
BAD_NPZ = {
    "nothing": b"", "not_zip": b"hello, this is no archive at all", "cut": STORED[:-30], "cut_end": STORED[:-1],
    "directory_place": patch(STORED, END + 16, struct.pack("<I", 10**6)),
    "directory_bytes": patch(STORED, END + 12, struct.pack("<I", 10**6)),
    "count": patch(STORED, END + 8, struct.pack("<HH", 3, 3)), "count_less": patch(STORED, END + 8, struct.pack("<HH", 1, 1)), "count_huge": patch(STORED, END + 8, b"\xff" * 4),
    "parts": patch(STORED, END + 4, b"\1"), "member_place": patch(STORED, FIRST + 42, struct.pack("<I", 7)),
    "member_far": patch(STORED, FIRST + 42, struct.pack("<I", 2**31)),
    "member_bytes": patch(STORED, FIRST + 20, struct.pack("<I", 10**6)),
    "stored_sizes": patch(STORED, FIRST + 24, struct.pack("<I", 10)),
    "name_length": patch(STORED, FIRST + 28, struct.pack("<H", 60000)),
    "encrypted": patch(STORED, FIRST + 8, b"\1"), "method": patch(STORED, FIRST + 10, b"\x0c"),
    "checksum": patch(STORED, STORED.index(F6), b"\1"), "name": patch(STORED, FIRST + 46, b"\xff"),
    "deflate": patch(DEFLATED, DEFLATED.index(b"A.npy") + 5, b"\xff" * 8),
    "claims_less": patch(DEFLATED, DFIRST + 24, struct.pack("<I", 100)),
    "claims_more": patch(DEFLATED, DFIRST + 24, struct.pack("<I", 300)),
    "bomb": patch(bomb, entry(bomb) + 24, struct.pack("<I", 2**31 - 1)),
    "twice": STORED.replace(b"b.npy", b"A.npy"),
    "overlap": patch(STORED, entry(STORED, 1) + 42, struct.pack("<I", 0)),
    "inside": archive([("a.npy", GOOD[:-1])]), "object": archive([("a.npy", BAD_NPY["object"])]),
    "locator": patch(end64(STORED), end64(STORED).rindex(b"PK\6\7") + 8, struct.pack("<Q", 2**60)),
    "end64_place": patch(end64(STORED), end64(STORED).rindex(b"PK\6\6") + 48, struct.pack("<Q", 2**63)),
    "extra64": patch(entry64(STORED), entry(STORED) + 46 + 5 + 2, struct.pack("<H", 4)),
    "size64": patch(entry64(STORED), entry(STORED) + 46 + 5 + 4, b"\xff" * 8),
}
for name, data in BAD_NPZ.items():
    put("bad/%s.npz" % name, data)


# ---- .safetensors ----
def safe(header, data=b""):
    text = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def one(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return dict({"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}, **more)


DTYPES = [("BOOL", b"\0\1"), ("U8", b"\0\xff"), ("I8", b"\x80\x7f"), ("I16", struct.pack("<2h", -32768, 32767)),
          ("U16", struct.pack("<2H", 0, 65535)), ("I32", struct.pack("<2i", -2**31, 2**31 - 1)),
          ("U32", struct.pack("<2I", 0, 2**32 - 1)), ("I64", struct.pack("<2q", -2**63, 2**63 - 1)),
          ("U64", struct.pack("<2Q", 0, 2**63 - 1)), ("F16", struct.pack("<2e", 0.5, -65504)),
          ("BF16", b"\x80\x3f\x00\xc0"), ("F32", struct.pack("<2f", 0.1, -2)), ("F64", struct.pack("<2d", 0.1, -2)),
          ("C64", struct.pack("<4f", 1, 2, -3, 0.5))]
header, data = {"__metadata__": {"format": "pt"}}, b""
for name, raw in DTYPES:
    header[name] = one(name, (2,), (len(data), len(data) + len(raw)))
    data += raw
put("good/dtypes.safetensors", safe(header, data))
put("good/fp8.safetensors", safe({"a": one("F8_E4M3", (4,), (0, 4)), "b": one("F8_E5M2", (2, 2), (4, 8))},
                                 b"\x38\x7e\x7f\x81" b"\x3c\x7b\xfc\x01"))
F4 = struct.pack("<4f", 1, 2, 3, 4)
put("good/names.safetensors", safe(
    '  {"encoder.0/w": {"shape":[2,1],"data_offsets":[8,16],"dtype":"F32","more":[1.5e3,{"a":null,"b":[true,-2]}]},'
    '"\\u03bb \\ud83d\\ude00\\n": {"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
    '"s": {"dtype":"U8","shape":[],"data_offsets":[16,17]},"e": {"dtype":"F64","shape":[0,3],"data_offsets":[17,17]}}   ',
    F4 + b"\7"))
put("good/none.safetensors", safe({}))
deep = '{"a":' + "[" * 40 + "]" * 40 + "}"
BAD_SAFE = {
    "nothing": b"", "cut_length": b"\1\0\0", "length": struct.pack("<Q", 100) + b"{}", "endless": b"\xff" * 8 + b"{}",
    "no_object": safe("[]"), "open": safe('{"a":{"dtype":"F32"'), "unquoted": safe("{a:1}"), "quote": safe('{"a'),
    "escape": safe('{"\\x":1}'), "surrogate": safe('{"\\ud800":1}'), "nul": safe('{"\\u0000":1}'),
    "control": safe(b'{"a\n":1}'), "utf8": safe(b'{"\xff":1}'), "after": safe('{} x'), "deep": safe('{"a":{"x":%s}}' % deep),
    "value": safe('{"a":{"x":nothing}}'), "no_dtype": safe('{"a":{"shape":[2],"data_offsets":[0,8]}}', F4[:8]),
    "no_shape": safe('{"a":{"dtype":"F32","data_offsets":[0,8]}}', F4[:8]),
    "no_offsets": safe('{"a":{"dtype":"F32","shape":[2]}}', F4[:8]), "no_facts": safe('{"a":{}}'),
    "twice": safe('{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', F4[:8]),
    "same": safe('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}',
                 F4),
    "unknown": safe({"a": one("F31")}, F4[:8]), "e8m0": safe({"a": one("F8_E8M0", (8,))}, F4[:8]),
    "f4": safe({"a": one("F4", (16,))}, F4[:8]), "negative": safe({"a": one(shape=(-2,))}, F4[:8]),
    "float_shape": safe('{"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}', F4[:8]),
    "huge": safe({"a": one(shape=(10**30,))}, F4[:8]), "product": safe({"a": one(shape=(2**32, 2**32))}, F4[:8]),
    "axes": safe({"a": one(shape=(1,) * 33, offsets=(0, 4))}, F4[:4]),
    "backwards": safe({"a": one(offsets=(8, 0))}, F4[:8]), "beyond": safe({"a": one(offsets=(0, 8))}, F4[:4]),
    "three_offsets": safe({"a": one(offsets=(0, 8, 9))}, F4[:8]), "bytes": safe({"a": one(offsets=(0, 4))}, F4[:4]),
    "gap": safe({"a": one(), "b": one(offsets=(9, 17))}, F4 + b"\0"),
    "overlap": safe({"a": one(), "b": one(offsets=(4, 12))}, F4[:12]), "start": safe({"a": one(offsets=(4, 12))}, F4[:12]),
    "rest": safe({"a": one()}, F4), "u64": safe({"a": one("U64", (1,))}, b"\xff" * 8),
}
for name, data in BAD_SAFE.items():
    put("bad/%s.safetensors" % name, data)

# ---- .mtx ----
M = "%%MatrixMarket matrix "
GOOD_MTX = {
    "general": "coordinate real general\n% a comment\n\n2 3 3\n1 1 1.5\n\n% another\n2 3 -2e3\n1 3 .5\n",
    "duplicates": "coordinate real general\n2 2 3\n1 1 1.5\n1 1 2\n2 1 -1\n",
    "symmetric": "coordinate integer symmetric\n3 3 3\n1 1 5\n2 1 -7\n3 3 9223372036854775807\n",
    "skew": "coordinate real skew-symmetric\n2 2 1\n2 1 3\n", "pattern": "coordinate pattern symmetric\n2 2 1\n2 1\n",
    "hermitian": "coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 3 -1\n", "array": "array real general\n2 2\n1\n2\n3\n4\n",
    "array_symmetric": "array integer symmetric\n2 2\n1\n2\n3\n", "array_skew": "array real skew-symmetric\n2 2\n5\n",
    "array_complex": "array complex general\r\n1 2\r\n1 2\r\n3 -4", "words": "array real general\n3 1\nnan\n-inf\n+1e-400\n",
    "none": "coordinate real general\n0 3 0\n", "capitals": "Coordinate REAL General\n1 1 1\n1 1 2\n",
}
for name, text in GOOD_MTX.items():
    put("good/%s.mtx" % name, (M + text).encode())
BAD_MTX = {
    "banner": "%MatrixMarket matrix array real general\n1 1\n1\n", "object": "%%MatrixMarket vector array real general\n1\n",
    "format": M + "sparse real general\n1 1 1\n", "field": M + "array rational general\n1 1\n1\n",
    "array_pattern": M + "array pattern general\n1 1\n1\n", "symmetry": M + "array real upper\n1 1\n1\n",
    "no_sizes": M + "array real general\n% nothing\n", "one_size": M + "array real general\n2\n1\n2\n",
    "no_entries": M + "coordinate real general\n2 2\n1 1 1\n", "negative": M + "array real general\n-1 2\n",
    "negative_entries": M + "coordinate real general\n2 2 -1\n", "sizes_text": M + "array real general\n2 x\n",
    "sizes_more": M + "array real general\n1 1 1\n1\n", "product": M + "coordinate real general\n4294967296 4294967296 0\n",
    "large_number": M + "coordinate real general\n99999999999999999999 1 0\n",
    "many": M + "coordinate real general\n2 2 1000000\n1 1 1\n", "array_many": M + "array real general\n1000 1000\n1\n",
    "square": M + "coordinate real symmetric\n2 3 0\n", "cut": M + "coordinate real general\n2 2 2\n1 1 1.0\n% the end\n",
    "array_cut": M + "array real general\n2 2\n1\n2\n3\n", "zero_row": M + "coordinate real general\n2 2 1\n0 1 1\n",
    "row": M + "coordinate real general\n2 2 1\n3 1 1\n", "column": M + "coordinate real general\n2 2 1\n1 9 1\n",
    "no_column": M + "coordinate real general\n2 2 1\n1\n", "no_value": M + "coordinate real general\n2 2 1\n1 1\n",
    "no_imaginary": M + "coordinate complex general\n2 2 1\n1 1 1\n", "value": M + "coordinate real general\n2 2 1\n1 1 one\n",
    "hex": M + "coordinate real general\n2 2 1\n1 1 0x10\n", "float_row": M + "coordinate real general\n2 2 1\n1.5 1 1\n",
    "integer": M + "coordinate integer general\n2 2 1\n1 1 1.5\n",
    "integer_large": M + "array integer general\n1 1\n9223372036854775808\n",
    "sum": M + "coordinate integer general\n1 1 2\n1 1 9223372036854775807\n1 1 1\n",
    "line_more": M + "coordinate real general\n2 2 1\n1 1 1 1\n", "more": M + "coordinate real general\n2 2 1\n1 1 1\n2 2 2\n",
    "diagonal": M + "coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
    "imaginary": M + "coordinate complex hermitian\n2 2 1\n1 1 1 1\n", "nothing": "",
}
for name, text in BAD_MTX.items():
    put("bad/%s.mtx" % name, text.encode())

# ---- .csv ----
GOOD_CSV = {
    "plain": "1,2.5,-3e2\n4,5,6\n", "header": "a,b\n1,2\n3,4\n", "semicolon": "a;b\n1;2\n3;4\n", "tab": "1\t2\n3\t4\n",
    "bar": "1|2\n3|4\n", "blanks": " 1  2.5\n3\t 4 \n\n", "crlf": "\ufeff1,2\r\n3,4\r\n\r\n5,6", "missing": "1,,3\n,NA,nan\n",
    "quoted": '"x, y","say ""hi""",n\n1,2,"3"\n', "lines": 'name,v\n"two\nlines",1\n"",2\n', "savetxt": "# a b\n1.0 2.0\n",
    "kinds": "id,score,who\n1,1.5,Ann\n2,,\"Bo, jr\"\n3,2,\n", "large": "9223372036854775807,9223372036854775808\n",
    "digits": "0.1,123456789012345678901234567890,1e-320,1.7976931348623157e308,0.30000000000000004,5e-324,1e400\n",
    "only_header": "a,b,c\n", "one": "1\n2\n3\n",
}
for name, text in GOOD_CSV.items():
    put("good/%s.csv" % name, text.encode())
BAD_CSV = {
    "nothing": "", "blank": "\n\r\n  \n", "short": "1,2\n3\n", "long": "a,b\n1,2\n\n3,4,5\n", "word": "1,2\n3,x\n",
    "quote": '1,2\n"3,4\n', "hex": "1,2\n1,0x10\n", "header_width": "a,b,c\n1,2\n", "words": "a,b\n1,two words\n",
    "decimal_comma": "a;b\n1,5;2,5\n", "nul": "1,2\n3,4\0\n", "mark": "a,b\n1,-\n",
}
for name, text in BAD_CSV.items():
    put("bad/%s.csv" % name, text.encode())
put("bad/not_utf8.csv", b"a,b\n1,\xff\n")
put("bad/nothing.txt", b"text\n")
