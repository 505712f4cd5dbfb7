#!/usr/bin/env python3
"""What is known of a dtype stands in its table (kernels/tensor/dtype.c): a list of dtypes anywhere else is one more
place to visit for the next one. Fails where a file names a 16-bit float that is neither on the checklist of
docs/design.md ("Adding a dtype") nor in MAY, with its reason. A line of MAY that nothing needs fails too. Names that
templates paste together, and names in quotes, it does not see."""
import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
NAMES = re.compile(r"\bDT_B?F16\b")

# Its row, and the list that templates paste names from.
LISTS = ("kernels/tensor/dtypes.def", "kernels/tensor/each_half.h")
# What one more dtype must visit beside them.
MUST = {
    "kernels/tensor/dtype.c": "its exponent and significand",
    "kernels/tensor/cast.c": "conversions",
    "kernels/gpu/gpu_prelude.c": "its name in source text",
    "builtins/stored/files_stored.c": "its code in files",
    "interp/embed/api_tensor.c": "its code in DLPack",
    "interp/native/native_convert.c": "its name in C",
}
# What one of them has beyond that.
MAY = {
    "interp/precision/precise_ew.c": "scalars of bf16 are the upper half of a float: speed",
    "kernels/blas/dnnl.c": "oneDNN's products of bf16",
    "kernels/cuda/cuda_math.c": "cuBLAS's products of f16",
    "kernels/device/device.h": "the dtype that a simulation takes products in",
    "kernels/device/device_sim.c": "the dtype that a simulation takes products in",
    "kernels/pair/contract_pair.c": "products by the processor's bf16 instruction",
    "kernels/attention/attention.c": "products by the processor's bf16 instruction",
    "kernels/pair/contract_pair_bf16.c": "products by the processor's bf16 instruction",
}


def main():
    wrong, used = [], set()
    for top in ("core", "kernels", "interp", "builtins", "parser"):
        for path in sorted(glob.glob(f"{top}/**/*.[ch]", recursive=True)):
            with open(path, encoding="utf-8") as file:
                named = NAMES.search(file.read())
            if named and path in MUST | MAY:
                used.add(path)
            elif named:
                wrong.append(f"{path} names {named[0]}: ask the table (dtype_half, dtype_computed, dtype_info), or give "
                             "its reason in tests/tools/dtypes.py")
    wrong += [f"no longer needed: {path}" for path in MUST | MAY if path not in used]
    if len(MUST) + len(LISTS) > 8:
        wrong.append(f"a dtype has {len(MUST) + len(LISTS)} places, and may have 8")
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


sys.exit(main())
