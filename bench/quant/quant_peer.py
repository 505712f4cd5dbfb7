"""The twin of quant.ric: _int_mm of PyTorch, i8 to i32, its f32 product, and f32 rounded to i8 by rows and columns.
quant_peer.py THREADS"""
import sys

import torch

sys.path.insert(1, "bench")
from timing import median_of



def rounded(x, axis):
    scale = x.abs().amax(axis, keepdim=True) / 127
    return (x / scale).round().clamp(-127, 127).to(torch.int8), scale


def dynamic(x, y):
    (p, s), (q, t) = rounded(x, 1), rounded(y, 0)
    return torch._int_mm(p, q).float() * s * t


torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(1)
for n in (128, 256, 512, 1024, 2048):
    a, b = (torch.randint(-127, 128, (n, n), dtype=torch.int8) for _ in range(2))
    x, y = a.float(), b.float()
    repeats = 51 if n < 1024 else 9
    print(f"i8-{n} {median_of(lambda: torch._int_mm(a, b), repeats):.9f}", flush=True)
    print(f"f32-{n} {median_of(lambda: x @ y, repeats):.9f}", flush=True)
    print(f"auto-{n} {median_of(lambda: dynamic(x, y), repeats):.9f}", flush=True)
for m, k, n in ((1, 4096, 4096), (64, 256, 256), (512, 512, 512), (1024, 1024, 1024), (4096, 256, 64)):
    floats = torch.nn.Sequential(torch.nn.Linear(k, n), torch.nn.ReLU())
    layer, x = torch.ao.quantization.quantize_dynamic(floats, {torch.nn.Linear}, dtype=torch.qint8), torch.randn(m, k)
    with torch.no_grad():
        print(f"layer-{m}x{k}x{n} {median_of(lambda: layer(x), 51 if m * k * n < 1e8 else 9):.9f}", flush=True)
