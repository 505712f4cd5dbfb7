/* Collapsing of axes for the elementwise, cast and copy kernels: see iter.h. */
#include "kernels/tensor/iter.h"

#include <assert.h>
#include <string.h>

/* Does every operand broadcast to the first, axes of length 1 in front of it aside? */
static __attribute__((unused)) bool fits(int operands, const Tensor *const *tensors) {
    for (int k = 1; k < operands; k++)
        for (int axis = 0; axis < tensors[k]->rank; axis++) {
            int at = axis + tensors[0]->rank - tensors[k]->rank;
            int64_t extent = tensor_shape(tensors[k])[axis];
            if (extent != 1 && (at < 0 || tensor_shape(tensors[0])[at] != extent))
                return false;
        }
    return true;
}

static void add_axes(Iter *it, const Tensor *const *tensors) {
    const Tensor *out = tensors[0];
    for (int axis = 0; axis < out->rank; axis++) {
        int64_t extent = tensor_shape(out)[axis];
        if (extent == 1) continue;
        it->shape[it->rank] = extent;
        for (int k = 0; k < it->operands; k++) {
            int own = axis - (out->rank - tensors[k]->rank);
            bool broadcast = own < 0 || tensor_shape(tensors[k])[own] == 1;
            it->stride[k][it->rank] = broadcast ? 0 : tensor_strides(tensors[k])[own];
        }
        it->rank++;
    }
}

static int64_t magnitude(int64_t n) { return n < 0 ? -n : n; }

/* Does axis a belong outside axis b? Decided by the first operand that tells them apart. */
static bool outside(const Iter *it, int a, int b) {
    for (int k = 0; k < it->operands; k++) {
        int64_t sa = magnitude(it->stride[k][a]), sb = magnitude(it->stride[k][b]);
        if (sa != sb) return sa > sb;
    }
    return true;
}

static void swap_axes(Iter *it, int a, int b) {
    int64_t t = it->shape[a];
    it->shape[a] = it->shape[b];
    it->shape[b] = t;
    for (int k = 0; k < it->operands; k++) {
        t = it->stride[k][a];
        it->stride[k][a] = it->stride[k][b];
        it->stride[k][b] = t;
    }
}

static void sort_axes(Iter *it) {
    for (int i = 1; i < it->rank; i++)
        for (int j = i; j > 0 && !outside(it, j - 1, j); j--) swap_axes(it, j - 1, j);
}

static bool mergeable(const Iter *it, int outer, int inner) {
    for (int k = 0; k < it->operands; k++)
        if (it->stride[k][outer] != it->stride[k][inner] * it->shape[inner]) return false;
    return true;
}

static void merge_axes(Iter *it) {
    int kept = 0;
    for (int axis = 1; axis < it->rank; axis++) {
        if (mergeable(it, kept, axis)) {
            it->shape[kept] *= it->shape[axis];
        } else {
            kept++;
            it->shape[kept] = it->shape[axis];
            for (int k = 0; k < it->operands; k++) it->stride[k][kept] = it->stride[k][axis];
            continue;
        }
        for (int k = 0; k < it->operands; k++) it->stride[k][kept] = it->stride[k][axis];
    }
    it->rank = kept + 1;
}

void iter_init(Iter *it, int operands, const Tensor *const *tensors) {
    assert(fits(operands, tensors));
    it->rank = 0;
    it->operands = operands;
    it->size = tensors[0]->size;
    add_axes(it, tensors);
    if (it->rank == 0) {
        it->rank = 1;
        it->shape[0] = 1;
        for (int k = 0; k < operands; k++) it->stride[k][0] = 0;
        return;
    }
    sort_axes(it);
    merge_axes(it);
}

void iter_seek(const Iter *it, int axes, int64_t index, int64_t *offsets) {
    for (int k = 0; k < it->operands; k++) offsets[k] = 0;
    for (int axis = axes - 1; axis >= 0 && index; axis--) {
        int64_t at = index % it->shape[axis];
        index /= it->shape[axis];
        for (int k = 0; k < it->operands; k++) offsets[k] += at * it->stride[k][axis];
    }
}
