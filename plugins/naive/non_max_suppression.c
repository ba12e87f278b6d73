/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NonMaxSuppression (ONNX 11): for each batch n and class c, boxes in order of score (equal ones in
 * order of index) whose score is more than score_threshold are taken, unless their intersection
 * over union with one taken before is more than iou_threshold, until there are
 * max_output_boxes_per_class. Absent: no score threshold, iou_threshold 0, 0 boxes.
 *
 * boxes [N S 4] as (y1, x1, y2, x2), corners in any order, or (x, y, width, height) of the center;
 * scores [N C S]; output [number 3] of (n, c, box), whose number is known only at the end. Boxes of
 * no area overlap nothing. A NaN score is never taken when there is a threshold, and last without.
 */
#include "sort.h"
#include "tensor.h"

#include <math.h>

typedef struct box {
    double x0, x1, y0, y1;
} box;

typedef struct nms {
    naive_tensor boxes, scores, y;
    bool center, has_threshold;
    double threshold, iou;
    int64_t S, max, at; /* at: where the scores of the class begin */
    box *taken;         /* workspace: the boxes that the class has so far, */
    int64_t *scratch;   /* and room to sort */
} nms;

static box read_box(const nms *s, int64_t n, int64_t i)
{
    int64_t at = (n * s->S + i) * 4;
    double v0 = naive_read(&s->boxes, at), v1 = naive_read(&s->boxes, at + 1),
           v2 = naive_read(&s->boxes, at + 2), v3 = naive_read(&s->boxes, at + 3);

    if (s->center)
        return (box){v0 - v2 / 2, v0 + v2 / 2, v1 - v3 / 2, v1 + v3 / 2};
    return (box){fmin(v1, v3), fmax(v1, v3), fmin(v0, v2), fmax(v0, v2)};
}

static bool overlap(const nms *s, box a, box b)
{
    double w = fmin(a.x1, b.x1) - fmax(a.x0, b.x0), h = fmin(a.y1, b.y1) - fmax(a.y0, b.y0);
    double area_a = (a.x1 - a.x0) * (a.y1 - a.y0), area_b = (b.x1 - b.x0) * (b.y1 - b.y0);

    if (!(w > 0 && h > 0 && area_a > 0 && area_b > 0))
        return false;
    return w * h / (area_a + area_b - w * h) > s->iou;
}

/* Falling scores, NaN last. */
static int compare_scores(const void *context, int64_t a, int64_t b)
{
    const nms *s = context;

    return naive_compare_floats(-naive_read(&s->scores, s->at + a),
                                -naive_read(&s->scores, s->at + b));
}

/* Takes the boxes of one class, from row `row` of the output on; the row after. */
static int64_t take_boxes(nms *s, int64_t n, int64_t c, int64_t row)
{
    const int64_t *order;
    int64_t count = 0, i, t;

    s->at = (n * s->scores.dims[1] + c) * s->S;
    order = naive_sort(s->S, s->scratch, compare_scores, s);
    for (i = 0; i < s->S && count < s->max && row < s->y.dims[0]; i++) {
        box candidate = read_box(s, n, order[i]);
        bool suppressed = false;
        if (s->has_threshold && !(naive_read(&s->scores, s->at + order[i]) > s->threshold))
            break;
        for (t = 0; t < count && !suppressed; t++)
            suppressed = overlap(s, candidate, s->taken[t]);
        if (suppressed)
            continue;
        s->taken[count++] = candidate;
        naive_write_int(&s->y, row * 3, n);
        naive_write_int(&s->y, row * 3 + 1, c);
        naive_write_int(&s->y, row * 3 + 2, order[i]);
        row++;
    }
    return row;
}

static uint64_t nms_workspace(const tfr_call *call)
{
    return (uint64_t)tfr_call_input(call, 0)->dims[1] * (sizeof(box) + 2 * sizeof(int64_t));
}

static int32_t run_nms(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor max = naive_input(k, launch, 2), iou = naive_input(k, launch, 3),
                 threshold = naive_input(k, launch, 4);
    int64_t *dims = naive_out_dims(k, launch, 0), n, c, row = 0;
    nms s;

    (void)err;
    s.boxes = naive_input(k, launch, 0);
    s.scores = naive_input(k, launch, 1);
    s.y = naive_output(k, launch, 0);
    s.center = tfr_call_int(&k->call, "center_point_box", 0) != 0;
    s.has_threshold = threshold.n > 0;
    s.threshold = threshold.n ? naive_read(&threshold, 0) : 0;
    s.iou = iou.n ? naive_read(&iou, 0) : 0;
    s.max = max.n ? naive_read_int(&max, 0) : 0;
    s.S = s.boxes.dims[1];
    s.taken = launch->workspace;
    s.scratch = s.S ? (int64_t *)(void *)(s.taken + s.S) : NULL;
    for (n = 0; n < s.scores.dims[0]; n++)
        for (c = 0; c < s.scores.dims[1]; c++)
            row = take_boxes(&s, n, c, row);
    if (dims) {
        dims[0] = row;
        dims[1] = 3;
    }
    return TFR_OK;
}

const naive_op naive_non_max_suppression_ops[] = {
    {.domain = "",
     .name = "NonMaxSuppression",
     .since_version = 11,
     .run = run_nms,
     .workspace = nms_workspace},
    {.name = NULL},
};
