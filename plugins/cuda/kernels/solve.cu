/* SPDX-License-Identifier: Apache-2.0 */
/*
 * solve.cu: Inverse and Solve: the X with A X = B, for Inverse with B = I.
 *
 * solve_T has a block for each matrix: elimination with partial pivoting in double, as the
 * reference does it, in A and B of a workspace. That is for small matrices and many of them; a
 * large one keeps one multiprocessor busy for long, and is cuSOLVER's where that is installed,
 * between solve_load_T and solve_store_T, which bring a matrix into the library's order by columns
 * and back.
 *
 * info[m] is 0, or 1 + the number of the pivot of matrix m that is exactly 0, as LAPACK has it.
 * solve_found makes one number of all: matrix * 2^32 + info of the first that is not 0, or -1.
 */
#include "block.h"
#include "index.h"

/* Loops are kept as they are: unrolled ones of doubles take more registers than a thread has, and
 * wait for memory all the same. */

namespace solve
{

/* Where the block's A [n n] and B [n k] begin in the workspace. */
struct equations {
    int a, b, n, k;
};

template <class T>
__device__ inline void load(TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(double) work,
                            const equations &e, int a_at, int b_at, bool has_b)
{
TFR_NO_UNROLL
    for (int i = (int)threadIdx.x; i < e.n * e.n; i += (int)blockDim.x)
        work[e.a + i] = tfr_load(a[a_at * e.n * e.n + i]);
TFR_NO_UNROLL
    for (int i = (int)threadIdx.x; i < e.n * e.k; i += (int)blockDim.x)
        work[e.b + i] = has_b ? (double)tfr_load(b[b_at * e.n * e.k + i])
                              : (double)(i / e.k == i % e.k);
    __syncthreads();
}

/* What a row is chosen by. A NaN stays where it is in row i, and is not looked for elsewhere. */
__device__ inline double magnitude(TFR_PTR(const double) work, const equations &e, int i, int j)
{
    const double v = fabs(work[e.a + j * e.n + i]);
    return j == i && v != v ? (double)INFINITY : v;
}

/* The first row from i on with the greatest element of column i; -1: all are 0. */
__device__ inline int find_pivot(TFR_PTR(const double) work, const equations &e, int i)
{
    double most = -1;
    int row = e.n;
TFR_NO_UNROLL
    for (int j = i + (int)threadIdx.x; j < e.n; j += (int)blockDim.x) {
        const double v = magnitude(work, e, i, j);
        most = v > most ? v : most;
    }
    most = tfr_fold_block<tfr_greatest>(most);
TFR_NO_UNROLL
    for (int j = i + (int)threadIdx.x; j < e.n && row == e.n; j += (int)blockDim.x)
        if (magnitude(work, e, i, j) == most)
            row = j;
    row = tfr_fold_block<tfr_smallest>(row);
    return most == 0 ? -1 : row;
}

__device__ inline void swap_rows(TFR_PTR(double) work, int begin, int width, int i, int j)
{
TFR_NO_UNROLL
    for (int c = (int)threadIdx.x; c < width; c += (int)blockDim.x) {
        const double v = work[begin + i * width + c];
        work[begin + i * width + c] = work[begin + j * width + c];
        work[begin + j * width + c] = v;
    }
}

/* Rows `from` to `end` less their element of column i times row i, in B and, behind column i, in A.
 * A warp has a row. */
__device__ inline void subtract(TFR_PTR(double) work, const equations &e, int i, int from, int end,
                                bool in_a)
{
    const int lane = (int)threadIdx.x % 32, warps = (int)blockDim.x / 32;
TFR_NO_UNROLL
    for (int j = from + (int)threadIdx.x / 32; j < end; j += warps) {
        const double factor = work[e.a + j * e.n + i];
TFR_NO_UNROLL
        for (int c = i + 1 + lane; in_a && c < e.n; c += 32)
            work[e.a + j * e.n + c] -= factor * work[e.a + i * e.n + c];
TFR_NO_UNROLL
        for (int c = lane; c < e.k; c += 32)
            work[e.b + j * e.k + c] -= factor * work[e.b + i * e.k + c];
    }
}

/* The number of the pivot that is 0, or -1. */
__device__ inline int eliminate(TFR_PTR(double) work, const equations &e)
{
TFR_NO_UNROLL
    for (int i = 0; i < e.n; i++) {
        const int row = find_pivot(work, e, i);
        if (row < 0)
            return i;
        if (row != i) {
            swap_rows(work, e.a, e.n, i, row);
            swap_rows(work, e.b, e.k, i, row);
        }
        __syncthreads();
TFR_NO_UNROLL
        for (int j = i + 1 + (int)threadIdx.x; j < e.n; j += (int)blockDim.x)
            work[e.a + j * e.n + i] /= work[e.a + i * e.n + i];
        __syncthreads();
        subtract(work, e, i, i + 1, e.n, true);
        __syncthreads();
    }
    return -1;
}

/* B becomes X, from the last row up. */
__device__ inline void substitute_back(TFR_PTR(double) work, const equations &e)
{
TFR_NO_UNROLL
    for (int i = e.n - 1; i >= 0; i--) {
TFR_NO_UNROLL
        for (int c = (int)threadIdx.x; c < e.k; c += (int)blockDim.x)
            work[e.b + i * e.k + c] /= work[e.a + i * e.n + i];
        __syncthreads();
        subtract(work, e, i, 0, i, false);
        __syncthreads();
    }
}

template <class T>
__device__ inline void run(TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(T) x,
                           TFR_PTR(double) work, TFR_PTR(int32_t) info, const tfr_solving &s)
{
    const int begin = (int)blockIdx.x * s.n * (s.n + s.k);
    const equations e = {begin, begin + s.n * s.n, s.n, s.k};
TFR_NO_UNROLL
    for (int m = (int)blockIdx.x; m < s.batch.n; m += (int)gridDim.x) {
        int at[2];
        tfr_walk_at<2>(s.batch, m, at);
        load<T>(a, b, work, e, at[0], at[1], s.has_b != 0);
        const int zero = eliminate(work, e);
        if (zero < 0) {
            substitute_back(work, e);
TFR_NO_UNROLL
            for (int i = (int)threadIdx.x; i < e.n * e.k; i += (int)blockDim.x)
                x[m * e.n * e.k + i] = tfr_store<T>::of(work[e.b + i]);
        }
        if (threadIdx.x == 0)
            info[m] = zero + 1;
        __syncthreads();
    }
}

__device__ inline void found(TFR_PTR(const int32_t) info, TFR_PTR(int64_t) out, int n)
{
    int64_t first = INT64_MAX;
TFR_NO_UNROLL
    for (int m = (int)threadIdx.x; m < n && first == INT64_MAX; m += (int)blockDim.x)
        if (info[m])
            first = (int64_t)m << 32 | (uint32_t)info[m];
    first = tfr_fold_block<tfr_smallest>(first);
    if (threadIdx.x == 0)
        out[0] = first == INT64_MAX ? -1 : first;
}

} // namespace solve

#define SOLVE(type, T)                                                                             \
    TFR_GLOBAL(solve_##type, 256,                                                                  \
               (TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(T) x, TFR_PTR(double) work,        \
                TFR_PTR(int32_t) info, tfr_solving s))                                             \
    {                                                                                              \
        solve::run<T>(a, b, x, work, info, s);                                                     \
    }                                                                                              \
    /* unit: the unit matrix in place of m */                                                      \
    TFR_GLOBAL(solve_load_##type, 256,                                                             \
               (TFR_PTR(const T) m, TFR_PTR(double) out, int32_t rows, int32_t columns,            \
                int32_t unit))                                                                     \
    {                                                                                              \
        for (int i = tfr_thread(); i < rows * columns; i += tfr_threads()) {                       \
            const int c = i / rows, r = i - c * rows;                                              \
            out[i] = unit ? (double)(r == c) : (double)tfr_load(m[r * columns + c]);               \
        }                                                                                          \
    }                                                                                              \
    TFR_GLOBAL(solve_store_##type, 256,                                                            \
               (TFR_PTR(const double) m, TFR_PTR(T) out, int32_t rows, int32_t columns))           \
    {                                                                                              \
        for (int i = tfr_thread(); i < rows * columns; i += tfr_threads()) {                       \
            const int r = i / columns, c = i - r * columns;                                        \
            out[i] = tfr_store<T>::of(m[c * rows + r]);                                            \
        }                                                                                          \
    }

SOLVE(f32, float)
SOLVE(f64, double)
SOLVE(f16, tfr_f16)
SOLVE(bf16, tfr_bf16)
#undef SOLVE

TFR_GLOBAL(solve_found, 256, (TFR_PTR(const int32_t) info, TFR_PTR(int64_t) out, int32_t n))
{
    solve::found(info, out, n);
}
