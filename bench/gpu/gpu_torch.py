"""The cases of gpu.ric in PyTorch, with the same clock: `name seconds bytes flops`."""
import statistics
import time

import torch

size, length, device = 8192, 2**28, "cuda"
torch.backends.cuda.matmul.allow_tf32 = False


def report(name, f, bytes_, flops, times=20):
    def clock():
        start = time.perf_counter()
        for _ in range(times):
            out = f()
        out[0, 0].item()
        return (time.perf_counter() - start) / times

    for _ in range(3):
        f()[0, 0].item()
    print(name, statistics.median(clock() for _ in range(7)), bytes_, flops)


for dtype, text in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
    a = torch.rand(size, size, device=device).to(dtype)
    b = torch.rand(size, size, device=device).to(dtype)
    report(f"gemm_{text}_{size}", lambda: a @ b, 3.0 * size**2 * a.element_size(), 2.0 * size**3)
x = torch.rand(length, device=device).reshape(-1, 4096)
y = x * 0.5
report("copy_f32", lambda: x.clone(), 8.0 * length, 0)
report("fused_f32", lambda: torch.relu(x * y + x) * 0.5, 12.0 * length, 4.0 * length)
report("sum_f32", lambda: x.sum(dim=1, keepdim=True), 4.0 * length, 1.0 * length)
report("softmax_f32", lambda: torch.softmax(x, dim=1), 8.0 * length, 0)
