"""The twin of attention.ric: scaled_dot_product_attention of PyTorch. attention_peer.py THREADS"""
import sys

import torch
from torch.nn.functional import scaled_dot_product_attention as attention

sys.path.insert(1, "bench")
from timing import median_of

torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(1)


for n in (1024, 2048, 4096, 8192):
    q, k, v = (torch.randn(1, 1, n, 64, requires_grad=True) for _ in range(3))
    w = torch.randn(1, 1, n, 64)
    for causal in (False, True):
        name = f"{n}" + ("-causal" if causal else "")
        with torch.no_grad():
            seconds = median_of(lambda: attention(q, k, v, is_causal=causal), 9)
        print(f"{name}-forward {seconds:.9f}", flush=True)
        out = attention(q, k, v, is_causal=causal)
        back = median_of(lambda: torch.autograd.grad(out, (q, k, v), w, retain_graph=True), 9)
        print(f"{name}-backward {back:.9f}", flush=True)
