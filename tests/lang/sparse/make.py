#!/usr/bin/env python3
"""Writes the .npz files that files_npz.ric reads: good/ as scipy.sparse.save_npz writes them, bad/ wrong in one place
each. Only the standard library is used, so that what is expected does not come from the program under test."""
import io
import os
import struct
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def npy(descr, shape, data):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


def vector(descr, code, *numbers):
    return npy(descr, "(%d,)" % len(numbers), struct.pack("<%d%s" % (len(numbers), code), *numbers))


def i32(*numbers):
    return vector("<i4", "i", *numbers)


def i64(*numbers):
    return vector("<i8", "q", *numbers)


def f64(*numbers):
    return vector("<f8", "d", *numbers)


def text(name):
    return npy("|S%d" % len(name), "()", name.encode())


def put(name, packed=zipfile.ZIP_STORED, **members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packed) as z:
        for member, data in members.items():
            if data is not None:
                z.writestr(zipfile.ZipInfo(member + ".npy"), data, packed)
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(out.getvalue())


CSR = dict(indices=i32(0, 2, 1), indptr=i32(0, 2, 3), format=text("csr"), shape=i64(2, 3), data=f64(1, 2, 3))
COO = dict(row=i32(1, 0, 0), col=i32(1, 2, 0), format=text("coo"), shape=i64(2, 3), data=f64(3, 2, 1))
BSR = dict(indices=i32(1, 0), indptr=i32(0, 1, 2), format=text("bsr"), shape=i64(4, 6),
           data=npy("<f8", "(2, 2, 3)", struct.pack("<12d", *range(1, 13))))
DIA = dict(offsets=i32(-1, 0, 2), format=text("dia"), shape=i64(3, 4),
           data=npy("<f8", "(3, 4)", struct.pack("<12d", 1, 2, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12)))

put("good/csr.npz", **CSR)
put("good/packed.npz", zipfile.ZIP_DEFLATED, **CSR, _is_array=npy("|b1", "()", b"\1"))
put("good/i64.npz", **dict(CSR, indices=i64(0, 2, 1), indptr=i64(0, 2, 3)))
put("good/unsorted.npz", **dict(CSR, indices=i32(2, 0, 1), data=f64(2, 1, 3)))
put("good/twice.npz", **dict(CSR, indices=i32(2, 2, 1), data=f64(0.5, 1.5, 3)))
put("good/behind.npz", **dict(CSR, indices=i32(0, 2, 1, 77, -1), data=f64(1, 2, 3, 4, 5)))
put("good/csc.npz", indices=i32(0, 1, 0), indptr=i32(0, 1, 2, 3), format=text("csc"), shape=i64(2, 3), data=f64(1, 3, 2))
put("good/coo.npz", **COO)
put("good/coords.npz", **dict(COO, row=None, col=None, coords=npy("<i8", "(2, 3)", struct.pack("<6q", 1, 0, 0, 1, 2, 0))))
put("good/bsr.npz", **BSR)
put("good/dia.npz", **DIA)
put("good/empty.npz", **dict(CSR, indices=i32(), indptr=i32(0), shape=i64(0, 3), data=f64()))
put("good/f4.npz", **dict(CSR, data=vector("<f4", "f", 1, 2, 3)))
put("good/c8.npz", **dict(CSR, data=npy("<c8", "(3,)", struct.pack("<6f", 1, 2, 3, 4, 5, 6))))
put("good/i8.npz", **dict(CSR, data=i64(1, -2, 3)))
put("good/bool.npz", **dict(CSR, data=npy("|b1", "(3,)", b"\1\1\0")))
put("good/unicode.npz", **dict(CSR, format=npy("<U3", "()", "csr".encode("utf-32-le"))))

BAD = {
    "falling": dict(indptr=i32(0, 3, 2)), "start": dict(indptr=i32(1, 2, 3)), "beyond": dict(indptr=i32(0, 2, 4)),
    "negative_start": dict(indptr=i32(0, -1, 3)), "starts": dict(indptr=i32(0, 1, 2, 3)), "no_starts": dict(indptr=i32()),
    "column": dict(indices=i32(0, 3, 1)), "negative_column": dict(indices=i32(0, -1, 1)), "lengths": dict(data=f64(1, 2)),
    "shape": dict(shape=i64(-2, 3)), "axes": dict(shape=i64(2, 3, 4)), "huge": dict(shape=i64(2**62, 2**62)),
    "huge_rows": dict(shape=i64(2**40, 1)), "float_indices": dict(indices=f64(0, 2, 1)),
    "matrix_indices": dict(indices=npy("<i4", "(3, 1)", struct.pack("<3i", 0, 2, 1))),
    "no_indices": dict(indices=None), "format": dict(format=text("lil")), "format_number": dict(format=b"csr"),
    "beyond_f64": dict(data=i64(1, 2, 2**53 + 1)), "objects": dict(data=npy("|O", "(3,)", b"")),
}
for name, change in BAD.items():
    put("bad/%s.npz" % name, **dict(CSR, **change))
put("bad/coo_row.npz", **dict(COO, row=i32(1, 0, 2)))
put("bad/coo_column.npz", **dict(COO, col=i32(1, -5, 0)))
put("bad/coo_lengths.npz", **dict(COO, col=i32(1, 2)))
put("bad/coo_rows.npz", **dict(COO, shape=i64(200000000, 3)))
put("bad/bsr_shape.npz", **dict(BSR, shape=i64(4, 5)))
put("bad/bsr_column.npz", **dict(BSR, indices=i32(1, 2)))
put("bad/bsr_empty.npz", **dict(BSR, data=npy("<f8", "(2, 0, 3)", b"")))
put("bad/dia_offsets.npz", **dict(DIA, offsets=i32(0, 1)))
