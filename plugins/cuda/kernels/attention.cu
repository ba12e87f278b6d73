/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.cu: Attention, formulas in plugins/naive/attention.c, without a matrix of weights in
 * memory: keys come in parts, and for each query there are the greatest score so far, the sum of
 * exp(score - greatest) and the values weighed by these, all float32, which a greater score scales
 * down (Dao et al., arXiv:2205.14135; Milakov and Gimelshein, arXiv:1805.02867).
 *
 *   attention_D_T       a block for 32 queries of a head of up to D elements: 64 keys at a time,
 *                       in shared memory, 4 x 4 scores a thread; keys that no query of the block
 *                       may see are passed over
 *   attention_rows_T    a block for each query, for few of them, as when text is generated, and
 *                       for heads of up to 256: a warp for each 8th key. Long rows are cut into
 *                       parts, each of a block, so that all multiprocessors read keys;
 *                       attention_join_T puts these together
 *
 * A length of keys outside [0, T] is taken as the nearest one that is not.
 */
#include "block.h"
#include "index.h"

namespace attention
{

enum { QUERIES = 32, KEYS = 64, CHUNK = 32, MOST_CHUNKS = 8, WARPS = 8 };

/* What keys the queries of batch b may see. */
struct sight {
    int valid, offset; /* keys; of query 0, where it stands among them */

    __device__ sight(const tfr_attention &a, TFR_PTR(const int64_t) lens, int b)
    {
        int64_t n = lens ? (int64_t)lens[b] : a.T;
        n = n < 0 ? 0 : n > a.T ? a.T : n;
        valid = (int)n;
        offset = a.has_past ? a.past : lens ? valid - a.TQ : 0;
    }
    /* The first key, and the one behind the last, that any of queries i to last may see. */
    __device__ int begin(const tfr_attention &a, int i) const
    {
        const int at = i + offset - a.left;
        return a.left < 0 || at < 0 ? 0 : at;
    }
    __device__ int end(const tfr_attention &a, int last) const
    {
        int at = a.causal ? last + offset + 1 : valid;
        if (a.right >= 0 && last + offset + a.right < at)
            at = last + offset + a.right + 1;
        return at < valid ? at : valid;
    }
    __device__ bool sees(const tfr_attention &a, int i, int j) const
    {
        return j < end(a, i) && j >= begin(a, i);
    }
};

template <class T> struct operands {
    const tfr_attention &a;
    TFR_PTR(const T) q;
    TFR_PTR(const T) k;
    TFR_PTR(const T) v;
    TFR_PTR(const T) mask;
    TFR_PTR(const uint8_t) flags; /* the mask, if it is bool */
    TFR_PTR(const T) past_k;
    TFR_PTR(const T) past_v;
    TFR_PTR(const int64_t) lens;

    /* Element 0 of a key, in the past or in what is new. */
    __device__ int key_at(int b, int g, int j) const
    {
        return j < a.past ? ((b * a.HK + g) * a.past + j) * a.S
                          : b * a.of_k.batch + g * a.of_k.head + (j - a.past) * a.of_k.row;
    }
    __device__ int value_at(int b, int g, int j) const
    {
        return j < a.past ? ((b * a.HK + g) * a.past + j) * a.SV
                          : b * a.of_v.batch + g * a.of_v.head + (j - a.past) * a.of_v.row;
    }
    __device__ float key(int j, int at) const
    {
        return tfr_load(j < a.past ? past_k[at] : k[at]);
    }
    __device__ float value(int j, int at) const
    {
        return tfr_load(j < a.past ? past_v[at] : v[at]);
    }
    /* The score of a key that is in sight, from the product. */
    __device__ float score(int b, int h, int i, int j, float product) const
    {
        float s = product * a.scale;
        if (a.softcap > 0)
            s = a.softcap * tanhf(s / a.softcap);
        if (!a.has_mask)
            return s;
        if (j >= a.mask_length)
            return -INFINITY;
        const int at = b * a.mask[0] + h * a.mask[1] + i * a.mask[2] + j;
        return a.mask_is_bool ? (flags[at] ? s : -INFINITY) : s + tfr_load(mask[at]);
    }
};

/* Lanes that are `n` neighbours. */
template <class fold> __device__ inline float all_of(float v, unsigned n)
{
    for (unsigned bits = n / 2; bits > 0; bits /= 2)
        v = fold::of(v, tfr_shuffle_xor(v, bits));
    return v;
}

/* exp(m - greatest), and 0 for what has seen nothing. */
__device__ inline float factor(float m, float greatest)
{
    return m == -INFINITY ? 0 : expf(m - greatest);
}

template <class T, int CHUNKS>
__device__ inline void tiles(const operands<T> &o, TFR_PTR(T) y, int number)
{
    TFR_SHARED(float, qs, CHUNKS *CHUNK *(QUERIES + 4)); /* by element, then query */
    TFR_SHARED(float, kv, CHUNK *(KEYS + 4)); /* keys: by element, then key; values: by key */
    TFR_SHARED(float, ps, KEYS *(QUERIES + 4));
    constexpr int q_pitch = QUERIES + 4, k_pitch = KEYS + 4;
    const tfr_attention &a = o.a;
    const int t = (int)threadIdx.x, tx = t % 16, ty = t / 16 * 4;
    const int blocks = (a.TQ + QUERIES - 1) / QUERIES;
    const int first = number % blocks * QUERIES, h = number / blocks % a.HQ;
    const int b = number / blocks / a.HQ, g = h / a.group;
    const sight s(a, o.lens, b);
    const int last = (first + QUERIES < a.TQ ? first + QUERIES : a.TQ) - 1, end = s.end(a, last);
    float sums[CHUNKS][4][2] = {}, most[4], total[4] = {};

    for (int i = 0; i < 4; i++)
        most[i] = -INFINITY;
    for (int e = t; e < CHUNKS * CHUNK * QUERIES; e += 128) {
        const int d = e % (CHUNKS * CHUNK), i = first + e / (CHUNKS * CHUNK);
        qs[d * q_pitch + e / (CHUNKS * CHUNK)] =
            d < a.S && i < a.TQ
                ? tfr_load(o.q[b * a.of_q.batch + h * a.of_q.head + i * a.of_q.row + d])
                : 0;
    }
    for (int j0 = s.begin(a, first) / KEYS * KEYS; j0 < end; j0 += KEYS) {
        float p[4][4] = {}, scaled[4];
        TFR_NO_UNROLL
        for (int c = 0; c < a.S; c += CHUNK) {
            __syncthreads();
            TFR_NO_UNROLL
            for (int e = t; e < CHUNK * KEYS; e += 128) {
                const int d = c + e % CHUNK, j = j0 + e / CHUNK;
                kv[e % CHUNK * k_pitch + e / CHUNK] =
                    d < a.S && j < end ? o.key(j, o.key_at(b, g, j) + d) : 0;
            }
            __syncthreads();
            TFR_NO_UNROLL
            for (int d = 0; d < CHUNK; d++) {
                const tfr_f4 q = tfr_get4(qs, (c + d) * q_pitch + ty);
                const tfr_f4 k = tfr_get4(kv, d * k_pitch + tx * 4);
                TFR_UNROLL
                for (int i = 0; i < 4; i++)
                    TFR_UNROLL
                for (int j = 0; j < 4; j++)
                    p[i][j] += q.v[i] * k.v[j];
            }
        }
        TFR_UNROLL
        for (int i = 0; i < 4; i++) {
            const int query = first + ty + i;
            float greatest = most[i], sum = 0;
            TFR_UNROLL
            for (int j = 0; j < 4; j++) {
                const int key = j0 + tx * 4 + j;
                p[i][j] = query < a.TQ && s.sees(a, query, key) ? o.score(b, h, query, key, p[i][j])
                                                                : -INFINITY;
                greatest = tfr_greatest::of(greatest, p[i][j]);
            }
            greatest = all_of<tfr_greatest>(greatest, 16);
            scaled[i] = factor(most[i], greatest);
            TFR_UNROLL
            for (int j = 0; j < 4; j++) {
                p[i][j] = factor(p[i][j], greatest);
                sum += p[i][j];
                ps[(tx * 4 + j) * q_pitch + ty + i] = p[i][j];
            }
            total[i] = total[i] * scaled[i] + all_of<tfr_sum>(sum, 16);
            most[i] = greatest;
        }
        TFR_UNROLL
        for (int c = 0; c < CHUNKS; c++) {
            if (c * CHUNK >= a.SV)
                break;
            __syncthreads();
            TFR_NO_UNROLL
            for (int e = t; e < CHUNK * KEYS; e += 128) {
                const int d = c * CHUNK + e % CHUNK, j = j0 + e / CHUNK;
                kv[e / CHUNK * CHUNK + e % CHUNK] =
                    d < a.SV && j < end ? o.value(j, o.value_at(b, g, j) + d) : 0;
            }
            __syncthreads();
            TFR_UNROLL
            for (int i = 0; i < 4; i++) {
                sums[c][i][0] *= scaled[i];
                sums[c][i][1] *= scaled[i];
            }
            TFR_NO_UNROLL
            for (int j = 0; j < KEYS; j++) {
                const tfr_f4 w = tfr_get4(ps, j * q_pitch + ty);
                const float v0 = kv[j * CHUNK + tx * 2], v1 = kv[j * CHUNK + tx * 2 + 1];
                TFR_UNROLL
                for (int i = 0; i < 4; i++) {
                    sums[c][i][0] += w.v[i] * v0;
                    sums[c][i][1] += w.v[i] * v1;
                }
            }
        }
    }
    TFR_UNROLL
    for (int c = 0; c < CHUNKS; c++)
        TFR_UNROLL
    for (int i = 0; i < 4; i++)
        TFR_UNROLL
    for (int k = 0; k < 2; k++) {
        const int d = c * CHUNK + tx * 2 + k, query = first + ty + i;
        if (d < a.SV && query < a.TQ)
            y[b * a.of_y.batch + h * a.of_y.head + query * a.of_y.row + d] =
                tfr_store<T>::of(total[i] == 0 ? 0.f : sums[c][i][k] / total[i]);
    }
}

/* What one warp has of a query: elements lane, lane + 32, ... */
struct gathered {
    float most, total, sums[MOST_CHUNKS];
};

template <class T>
__device__ inline gathered of_warp(const operands<T> &o, int b, int h, int i, int from, int to)
{
    const tfr_attention &a = o.a;
    const int lane = (int)threadIdx.x % 32, g = h / a.group;
    const int base = b * a.of_q.batch + h * a.of_q.head + i * a.of_q.row;
    gathered r = {-INFINITY, 0, {}};
    float q[MOST_CHUNKS];

    TFR_UNROLL
    for (int c = 0; c < MOST_CHUNKS; c++)
        q[c] = c * 32 + lane < a.S ? tfr_load(o.q[base + c * 32 + lane]) : 0;
    TFR_NO_UNROLL
    for (int j = from + (int)threadIdx.x / 32; j < to; j += WARPS) {
        const int key = o.key_at(b, g, j) + lane;
        float product = 0;
        TFR_UNROLL
        for (int c = 0; c < MOST_CHUNKS; c++)
            if (c * 32 + lane < a.S)
                product += q[c] * o.key(j, key + c * 32);
        const float s = o.score(b, h, i, j, tfr_fold_warp<tfr_sum>(product));
        if (s == -INFINITY)
            continue;
        const float greatest = tfr_greatest::of(r.most, s);
        const float scaled = factor(r.most, greatest), p = expf(s - greatest);
        const int value = o.value_at(b, g, j) + lane;
        r.total = r.total * scaled + p;
        r.most = greatest;
        TFR_UNROLL
        for (int c = 0; c < MOST_CHUNKS; c++)
            if (c * 32 + lane < a.SV)
                r.sums[c] = r.sums[c] * scaled + p * o.value(j, value + c * 32);
    }
    return r;
}

/* Of each part of a row: the greatest score, the total, and the sums. */
template <class T>
__device__ inline void rows(const operands<T> &o, TFR_PTR(T) y, TFR_PTR(float) found)
{
    TFR_SHARED(float, mosts, WARPS);
    TFR_SHARED(float, totals, WARPS);
    TFR_SHARED(float, sums, WARPS *MOST_CHUNKS * 32);
    const tfr_attention &a = o.a;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

    for (int n = (int)blockIdx.x; n < a.rows * a.parts; n += (int)gridDim.x) {
        const int row = n / a.parts, part = n % a.parts;
        const int i = row % a.TQ, h = row / a.TQ % a.HQ, b = row / a.TQ / a.HQ;
        const sight s(a, o.lens, b);
        const int begin = s.begin(a, i), end = s.end(a, i);
        const int each = end > begin ? (end - begin + a.parts - 1) / a.parts : 0;
        const int from = begin + part * each, to = from + each < end ? from + each : end;
        const gathered r = of_warp<T>(o, b, h, i, from, to);
        float most = -INFINITY, total = 0;
        __syncthreads();
        if (lane == 0) {
            mosts[warp] = r.most;
            totals[warp] = r.total;
        }
        TFR_UNROLL
        for (int c = 0; c < MOST_CHUNKS; c++)
            sums[(warp * MOST_CHUNKS + c) * 32 + lane] = r.sums[c];
        __syncthreads();
        for (int w = 0; w < WARPS; w++)
            most = tfr_greatest::of(most, (float)mosts[w]);
        for (int w = 0; w < WARPS; w++)
            total += totals[w] * factor(mosts[w], most);
        if (a.parts > 1 && threadIdx.x == 0) {
            found[n * (a.SV + 2)] = most;
            found[n * (a.SV + 2) + 1] = total;
        }
        for (int d = (int)threadIdx.x; d < a.SV; d += (int)blockDim.x) {
            float sum = 0;
            for (int w = 0; w < WARPS; w++)
                sum += sums[w * MOST_CHUNKS * 32 + d] * factor(mosts[w], most);
            if (a.parts > 1)
                found[n * (a.SV + 2) + 2 + d] = sum;
            else
                y[b * a.of_y.batch + h * a.of_y.head + i * a.of_y.row + d] =
                    tfr_store<T>::of(total == 0 ? 0.f : sum / total);
        }
    }
}

template <class T>
__device__ inline void join(TFR_PTR(const float) found, TFR_PTR(T) y, const tfr_attention &a)
{
    for (int n = tfr_thread(); n < a.rows * a.SV; n += tfr_threads()) {
        const int row = n / a.SV, d = n % a.SV, first = row * a.parts * (a.SV + 2);
        const int i = row % a.TQ, h = row / a.TQ % a.HQ, b = row / a.TQ / a.HQ;
        float most = -INFINITY, total = 0, sum = 0;
        for (int p = 0; p < a.parts; p++)
            most = tfr_greatest::of(most, (float)found[first + p * (a.SV + 2)]);
        for (int p = 0; p < a.parts; p++) {
            const int at = first + p * (a.SV + 2);
            const float f = factor(found[at], most);
            total += f * found[at + 1];
            sum += f * found[at + 2 + d];
        }
        y[b * a.of_y.batch + h * a.of_y.head + i * a.of_y.row + d] =
            tfr_store<T>::of(total == 0 ? 0.f : sum / total);
    }
}

} // namespace attention

#define OPERANDS(T)                                                                                \
    TFR_PTR(const T)                                                                               \
    q, TFR_PTR(const T) k, TFR_PTR(const T) v, TFR_PTR(const T) mask,                              \
        TFR_PTR(const uint8_t) flags, TFR_PTR(const T) past_k, TFR_PTR(const T) past_v,            \
        TFR_PTR(const int64_t) lens, TFR_PTR(T) y
#define TILES(D, type, T)                                                                          \
    TFR_GLOBAL(attention_##D##_##type, 128, (OPERANDS(T), tfr_attention a))                        \
    {                                                                                              \
        attention::tiles<T, D / attention::CHUNK>({a, q, k, v, mask, flags, past_k, past_v, lens}, \
                                                  y, (int)blockIdx.x);                             \
    }
#define ATTENTION(type, T)                                                                         \
    TILES(64, type, T)                                                                             \
    TILES(128, type, T)                                                                            \
    TFR_GLOBAL(attention_rows_##type, 256, (OPERANDS(T), TFR_PTR(float) found, tfr_attention a))   \
    {                                                                                              \
        attention::rows<T>({a, q, k, v, mask, flags, past_k, past_v, lens}, y, found);             \
    }                                                                                              \
    TFR_GLOBAL(attention_join_##type, 256,                                                         \
               (TFR_PTR(const float) found, TFR_PTR(T) y, tfr_attention a))                        \
    {                                                                                              \
        attention::join<T>(found, y, a);                                                           \
    }

ATTENTION(f32, float)
ATTENTION(f16, tfr_f16)
ATTENTION(bf16, tfr_bf16)
#undef ATTENTION
#undef TILES
#undef OPERANDS
