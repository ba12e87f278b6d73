/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.cu: SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and SoftmaxCrossEntropyGrad; formulas
 * in plugins/naive/loss.c and loss_grad.c. x is [outer, classes, inner]; a thread has a sample
 * (o, i) and puts its loss and its weight into `parts`, which loss_sum adds in one block. Of few
 * samples one block has all, and adds them itself. A label
 * outside of the classes makes its loss and gradient NaN.
 */
#include "block.h"
#include "index.h"

namespace loss
{

/* Weight of a sample's class: 0 if it is ignored. */
template <class I>
__device__ inline float weight_of(TFR_PTR(const float) weights, const tfr_loss &l, I label)
{
    if (l.has_ignore && label == (I)l.ignore)
        return 0;
    if (label < 0 || label >= l.classes)
        return NAN;
    return weights ? weights[label] : 1;
}

/* The loss of sample i, whose weight is found before. */
template <class I>
__device__ inline float loss_of(TFR_PTR(const float) x, TFR_PTR(float) log_prob, const tfr_loss &l,
                                int i, I label, float weight)
{
    const int base = i / l.inner * l.classes * l.inner + i % l.inner;
    float m = -INFINITY, sum = 0, log_sum = 0;
    if (l.entropy) {
        for (int c = 0; c < l.classes; c++)
            m = tfr_greatest::of(m, x[base + c * l.inner]);
        for (int c = 0; c < l.classes; c++)
            sum += expf(x[base + c * l.inner] - m);
        log_sum = logf(sum);
    } else
        m = 0;
    if (log_prob)
        for (int c = 0; c < l.classes; c++)
            log_prob[base + c * l.inner] = x[base + c * l.inner] - m - log_sum;
    if (label >= 0 && label < l.classes && !(l.has_ignore && label == (I)l.ignore))
        return -(x[base + (int)label * l.inner] - m - log_sum) * weight;
    return weight;
}

/* Without parts one block adds all losses, unless each is wanted. */
template <class I>
__device__ inline void each(TFR_PTR(const float) x, TFR_PTR(const I) labels,
                            TFR_PTR(const float) weights, TFR_PTR(float) out,
                            TFR_PTR(float) log_prob, TFR_PTR(float) parts, const tfr_loss &l)
{
    const int n = l.outer * l.inner;
    float all = 0, all_weights = 0;
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const I label = labels[i];
        const float weight = weight_of(weights, l, label);
        const float v = loss_of(x, log_prob, l, i, label, weight);
        if (l.reduction == 0)
            out[i] = v;
        else if (parts) {
            parts[i] = v;
            parts[n + i] = weight;
        } else {
            all += v;
            all_weights += weight;
        }
    }
    if (l.reduction == 0 || parts)
        return;
    all = tfr_fold_block<tfr_sum>(all);
    all_weights = tfr_fold_block<tfr_sum>(all_weights);
    if (threadIdx.x == 0)
        out[0] = l.reduction == 2 ? all / all_weights : all;
}

/* The sum of all losses, over that of all weights for a mean. */
__device__ inline void sum(TFR_PTR(const float) parts, TFR_PTR(float) out, int n, bool mean)
{
    float v = 0, w = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        v += parts[i];
        w += parts[n + i];
    }
    v = tfr_fold_block<tfr_sum>(v);
    w = tfr_fold_block<tfr_sum>(w);
    if (threadIdx.x == 0)
        out[0] = mean ? v / w : v;
}

/* The weights of all samples, which each thread of a block gets. */
template <class I>
__device__ inline float weigh_all(TFR_PTR(const I) labels, TFR_PTR(const float) weights,
                                  const tfr_loss &l)
{
    const int n = l.outer * l.inner;
    float w = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        w += weight_of(weights, l, labels[i]);
    return tfr_fold_block<tfr_sum>(w);
}

template <class I>
__device__ inline void weigh(TFR_PTR(const I) labels, TFR_PTR(const float) weights,
                             TFR_PTR(float) total, const tfr_loss &l)
{
    const float w = weigh_all(labels, weights, l);
    if (threadIdx.x == 0)
        total[0] = w;
}

/* total: the sum of weights, which a mean divides by; NULL: each block finds it. */
template <class I>
__device__ inline void grad(TFR_PTR(const float) dy, TFR_PTR(const float) log_prob,
                            TFR_PTR(const I) labels, TFR_PTR(const float) weights,
                            TFR_PTR(const float) total, TFR_PTR(float) dx, const tfr_loss &l)
{
    const int n = l.outer * l.classes * l.inner;
    float by = 1;
    if (l.reduction == 2)
        by = total ? total[0] : weigh_all(labels, weights, l);
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const int row = i / l.inner, c = row % l.classes;
        const int sample = row / l.classes * l.inner + i % l.inner;
        const I label = labels[sample];
        float g = weight_of(weights, l, label) * dy[l.reduction == 0 ? sample : 0];
        if (l.reduction == 2)
            g /= by;
        if (l.has_ignore && label == (I)l.ignore)
            dx[i] = 0;
        else
            dx[i] = g * (expf(log_prob[i]) - (label == c ? 1.f : 0.f));
    }
}

} // namespace loss

#define LOSS(type, I)                                                                              \
    TFR_GLOBAL(loss_##type, 256,                                                                   \
               (TFR_PTR(const float) x, TFR_PTR(const I) labels, TFR_PTR(const float) weights,     \
                TFR_PTR(float) out, TFR_PTR(float) log_prob, TFR_PTR(float) parts, tfr_loss l))    \
    {                                                                                              \
        loss::each<I>(x, labels, weights, out, log_prob, parts, l);                                \
    }                                                                                              \
    TFR_GLOBAL(                                                                                    \
        loss_weigh_##type, 256,                                                                    \
        (TFR_PTR(const I) labels, TFR_PTR(const float) weights, TFR_PTR(float) total, tfr_loss l)) \
    {                                                                                              \
        loss::weigh<I>(labels, weights, total, l);                                                 \
    }                                                                                              \
    TFR_GLOBAL(loss_grad_##type, 256,                                                              \
               (TFR_PTR(const float) dy, TFR_PTR(const float) log_prob, TFR_PTR(const I) labels,   \
                TFR_PTR(const float) weights, TFR_PTR(const float) total, TFR_PTR(float) dx,       \
                tfr_loss l))                                                                       \
    {                                                                                              \
        loss::grad<I>(dy, log_prob, labels, weights, total, dx, l);                                \
    }
LOSS(i32, int32_t)
LOSS(i64, int64_t)
#undef LOSS

TFR_GLOBAL(loss_sum, 256, (TFR_PTR(const float) parts, TFR_PTR(float) out, int32_t n, int32_t mean))
{
    loss::sum(parts, out, n, mean != 0);
}
