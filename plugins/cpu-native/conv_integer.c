/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_integer.c: ConvInteger and QLinearConv, what plugins/naive/conv.c says of them, bit for bit.
 *
 * An image gets its channels last, is convolved, and its result gets them first again: bytes move
 * fast beside the products that each takes part in. Windows are packed for a block of rows at a
 * time, so that no matrix of all of them is made.
 */
#include <stdatomic.h>
#include <string.h>

#include "integer_op.h"
#include "int8_turn.h"

enum { COLUMNS = 256 /* pixels that a thread turns at a time */ };

typedef struct state {
    native_int8_operands operands;
    native_int8_shape shape; /* of one image and one group */
    native_int8_product product;
    bool depthwise;
    int64_t images, groups, channels, pixels_in; /* channels of all groups of x */
    const char *packed;                          /* of each group; NULL = w comes with the launch */
    size_t packed_bytes;                         /* of a group */
    int threads;
    /* Offsets in the workspace: x and y with their channels last. */
    size_t packed_at, x_at, y_at, scratch_at;
} state;

/* ---- the call ---- */

static const tfr_operand *weights_of(const tfr_call *call)
{
    return tfr_call_input(call, strcmp(call->name, "QLinearConv") == 0 ? 3 : 1);
}

static void read_window(const tfr_call *call, native_int8_window *w)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const uint64_t rank = (uint64_t)x->rank - 2;
    const int64_t *kernel = tfr_call_ints(call, "kernel_shape", rank);
    const int64_t *strides = tfr_call_ints(call, "strides", rank);
    const int64_t *dilations = tfr_call_ints(call, "dilations", rank);
    const int64_t *pads = tfr_call_ints(call, "pads", 2 * rank);
    uint64_t d;

    w->rank = (int)rank;
    for (d = 0; d < rank; d++) {
        w->in[d] = x->dims[2 + d];
        w->out[d] = y->dims[2 + d];
        w->kernel[d] = kernel ? kernel[d] : 1;
        w->stride[d] = strides ? strides[d] : 1;
        w->dilation[d] = dilations ? dilations[d] : 1;
        w->pad[d] = pads ? pads[d] : 0;
    }
}

/* The weights of a group, [N][C][taps] as they lie. */
static native_int8_matrix matrix_of(const state *s, const void *w, int64_t group)
{
    const int64_t channels = s->depthwise ? 1 : s->shape.window.channels;
    const int64_t taps = s->shape.k / channels;
    const uint8_t *at = (const uint8_t *)w + group * s->shape.n * s->shape.k;

    return (native_int8_matrix){at, s->shape.k, channels, taps, 1};
}

static void lay_out(const tfr_plugin_device *device, state *s, const void *w)
{
    const int64_t m = s->shape.m, size = s->operands.quantized ? 1 : 4;
    native_int8_matrix matrix = matrix_of(s, w, 0);

    /* Groups are planned alike, so that none looks at its own weights. */
    native_int8_plan(&s->product, &device->int8_cpu, &s->shape,
                     w && s->groups == 1 ? &matrix : NULL, s->threads);
    s->packed_bytes = s->product.packed_bytes;
    if (s->depthwise)
        s->packed_bytes = native_int8_line(native_int8_depthwise_bytes(&s->shape));
    s->packed_at = native_int8_params_bytes(&s->operands);
    s->x_at = s->packed_at + s->packed_bytes * (size_t)s->groups;
    s->y_at = s->x_at + native_int8_line((size_t)(s->images * s->channels * s->pixels_in));
    s->scratch_at = s->y_at + native_int8_line((size_t)(s->images * m * s->shape.ldc * size));
}

static void read_call(const tfr_plugin_device *device, const tfr_call *call, state *s)
{
    const tfr_operand *x = tfr_call_input(call, 0), *w = weights_of(call);
    const tfr_operand *y = tfr_call_output(call, 0);
    const int64_t taps = tfr_operand_span(w, 2, w->rank), groups = tfr_call_int(call, "group", 1);
    native_int8_window *window = &s->shape.window;

    memset(s, 0, sizeof *s);
    s->images = x->dims[0];
    s->channels = x->dims[1];
    s->pixels_in = tfr_operand_span(x, 2, x->rank);
    s->depthwise =
        groups > 1 && w->dims[1] == 1 && w->dims[0] == groups && taps <= NATIVE_INT8_MOST_TAPS;
    s->groups = s->depthwise ? 1 : groups;
    read_window(call, window);
    window->channels = s->channels / s->groups;
    window->pixel_step = s->channels;
    window->image_step = s->channels * s->pixels_in;
    s->operands = native_int8_find_operands(call, taps * w->dims[1], w->dims[0]);
    s->shape.m = tfr_operand_span(y, 2, y->rank);
    s->shape.n = w->dims[0] / s->groups;
    s->shape.k = taps * w->dims[1];
    s->shape.ldc = w->dims[0];
    s->shape.a_signed = s->operands.a_signed;
    s->shape.b_signed = s->operands.b_signed;
    s->threads = native_int8_threads(device, (double)s->images * (double)s->shape.m *
                                                 (double)w->dims[0] * (double)s->shape.k);
    lay_out(device, s, w->data);
}

void native_int8_conv_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    const int rank = (int)tfr_call_input(call, 0)->rank - 2;
    state s;

    if (rank < 1 || rank > NATIVE_INT8_AXES) {
        tfr_decline(answer, TFR_REASON_RANK, "%d spatial axes, 1 to %d are done here", rank,
                    (int)NATIVE_INT8_AXES);
        return;
    }
    read_call(device, call, &s);
    if (native_int8_check_operands(&s.operands, call, 1, answer))
        answer->workspace_bytes = s.scratch_at + s.product.scratch_bytes * (size_t)s.threads;
}

/* ---- the steps of a launch ---- */

typedef struct work {
    const state *state;
    const tfr_plugin_device *device;
    native_int8_args args;
    const uint8_t *x, *w;
    void *y; /* channels first */
    const char *packed;
    uint8_t *x_last;
    char *y_last, *scratch;
    atomic_int_fast64_t next;
} work;

/* One group's parts of what is one for each output channel. */
static native_int8_args args_of_group(const state *s, const native_int8_args *whole, int64_t group)
{
    const int64_t n = group * s->shape.n;
    native_int8_args args = *whole;

    if (args.b_zeros)
        args.b_zeros += n;
    if (args.finish.bias)
        args.finish.bias += n;
    if (args.finish.scale_each)
        args.finish.rescale += n;
    return args;
}

static void pack_group(const state *s, const void *w, const native_int8_args *whole, int64_t group,
                       void *to)
{
    const native_int8_matrix matrix = matrix_of(s, w, group);

    if (s->depthwise)
        native_int8_depthwise_pack(&s->shape, &matrix, whole->b_zero, whole->b_zeros, to);
    else
        native_int8_pack(&s->product, &matrix, to, 0, s->product.n_panels);
}

static int64_t pieces(int64_t pixels)
{
    return (pixels + COLUMNS - 1) / COLUMNS;
}

static int64_t piece(int64_t i, int64_t pixels)
{
    return pixels - i * COLUMNS < COLUMNS ? pixels - i * COLUMNS : COLUMNS;
}

static void turn_x(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const int64_t C = w->state->channels, P = w->state->pixels_in, n = pieces(P);

    for (; begin < end; begin++) {
        const int64_t image = begin / n * C * P, i = begin % n;
        native_int8_turn(w->x + image + i * COLUMNS, P, C, piece(i, P),
                         w->x_last + image + i * COLUMNS * C, C);
    }
}

static void turn_y(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const int64_t C = w->state->shape.ldc, P = w->state->shape.m, n = pieces(P);

    for (; begin < end; begin++) {
        const int64_t image = begin / n * C * P, i = begin % n;
        const int64_t from = image + i * COLUMNS * C, to = image + i * COLUMNS;
        if (w->state->operands.quantized)
            native_int8_turn((const uint8_t *)w->y_last + from, C, piece(i, P), C,
                             (uint8_t *)w->y + to, P);
        else
            native_int8_turn_sums((const int32_t *)(const void *)w->y_last + from, C, piece(i, P),
                                  C, (int32_t *)w->y + to, P);
    }
}

/* Units of an image and a group: blocks of the product, or rows of a depthwise convolution. */
static int64_t units(const state *s)
{
    return s->depthwise ? pieces(s->shape.m) : s->product.n_units;
}

static void run_unit(const work *w, int64_t unit, void *scratch)
{
    const state *s = w->state;
    const int64_t n = units(s), i = unit % n, group = unit / n % s->groups;
    const int64_t image = unit / n / s->groups, size = s->operands.quantized ? 1 : 4;
    native_int8_args args = args_of_group(s, &w->args, group);

    args.a = w->x_last + image * s->shape.window.image_step + group * s->shape.window.channels;
    args.c = w->y_last + (image * s->shape.m * s->shape.ldc + group * s->shape.n) * size;
    args.packed = w->packed + (size_t)group * s->packed_bytes;
    if (s->depthwise)
        native_int8_depthwise_run(&w->device->int8_cpu, &s->shape, &args, i * COLUMNS,
                                  i * COLUMNS + piece(i, s->shape.m));
    else
        native_int8_run(&s->product, &args, scratch, i, i + 1);
}

static void run_share(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    const state *s = w->state;
    int64_t i, unit;

    for (i = begin; i < end; i++)
        while ((unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed)) <
               units(s) * s->groups * s->images)
            run_unit(w, unit, w->scratch + (size_t)i * s->product.scratch_bytes);
}

static void share(const work *w, void (*part)(void *user, int64_t begin, int64_t end), int64_t n,
                  int64_t grain)
{
    if (w->state->threads <= 1)
        part((void *)(uintptr_t)w, 0, n);
    else
        w->device->host->parallel_for(part, (void *)(uintptr_t)w, n, grain);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    char *memory = launch->workspace;
    work w = {.state = s, .device = device, .packed = s->packed};
    int64_t g;

    (void)err;
    native_int8_read_params(&s->operands, launch, memory, &w.args);
    w.x = native_int8_operand(&s->operands, launch, NATIVE_INT8_A);
    w.w = native_int8_operand(&s->operands, launch, NATIVE_INT8_B);
    w.y = launch->args[s->operands.output].address;
    w.x_last = (uint8_t *)memory + s->x_at;
    w.y_last = memory + s->y_at;
    w.scratch = memory + s->scratch_at;
    atomic_init(&w.next, 0);
    if (!w.packed) {
        for (g = 0; g < s->groups; g++)
            pack_group(s, w.w, &w.args, g, memory + s->packed_at + (size_t)g * s->packed_bytes);
        w.packed = memory + s->packed_at;
    }
    share(&w, turn_x, s->images * pieces(s->pixels_in), 0);
    share(&w, run_share, s->threads, 1);
    share(&w, turn_y, s->images * pieces(s->shape.m), 0);
    return TFR_OK;
}

/* ---- prepare ---- */

static void pack_weights(native_build *b, state *s, const void *w)
{
    char *packed = native_add_block(b, s->packed_bytes * (size_t)s->groups);
    void *params = native_add_block(b, native_int8_params_bytes(&s->operands));
    native_int8_args args;
    int64_t g;

    if (!packed || !params)
        return;
    memset(&args, 0, sizeof args);
    if (s->depthwise)
        native_int8_read_zeros_of_b(&s->operands, params, &args);
    for (g = 0; g < s->groups; g++)
        pack_group(s, w, &args, g, packed + (size_t)g * s->packed_bytes);
    s->packed = packed;
}

void native_int8_conv_prepare(native_build *b, const tfr_call *call)
{
    state *s = native_set_function(b, run, NULL, sizeof *s, "convolution of 8 bits");
    const void *w = weights_of(call)->data;

    if (!s)
        return;
    read_call(b->device, call, s);
    /* Packed weights of a depthwise convolution have no zero points any more. */
    if (w && (!s->depthwise || s->operands.at[NATIVE_INT8_B_ZERO] < 0 ||
              s->operands.known[NATIVE_INT8_B_ZERO]))
        pack_weights(b, s, w);
}
