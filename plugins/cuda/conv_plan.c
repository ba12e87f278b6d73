/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_plan.c: plans of cuDNN for convolutions and their gradients, by its graph interface.
 *
 * A graph of a convolution and what stands behind it is described to the library, whose heuristics
 * then name engines, the fastest first as they guess. The first ones that are exact enough make
 * plans, one of which is taken (conv_dnn.c); the descriptors that led to them are given back.
 * Tensors are said to be aligned to their elements: the library has engines for that which are
 * nearly all that it has for 16 bytes, so that one plan serves any address and bits do not depend
 * on it. Where channels are last and nothing is added, it has none on tensor cores but for 16 bytes
 * (conv_dnn.c).
 *
 * Strict f32 takes no engine on tensor cores. No mode takes one that rounds its inputs to another
 * type (to f16, which overflows where tf32 does not), that adds up in less than f32, by atomic
 * operations or by Fourier transforms, or that is compiled when the plan is made, which takes
 * seconds.
 */
#include "dnn.h"

#define MIB     (UINT64_C(1) << 20)
#define NOTE(n) (1u << TFR_DNN_NOTE_##n)

enum { MAX_CONFIGS = 64, MAX_NOTES = 32 };

/* ---- the graph ------------------------------------------------------------------------------- */

static unsigned type_of(int32_t dtype)
{
    return dtype == TFR_DTYPE_F16    ? TFR_DNN_F16
           : dtype == TFR_DTYPE_BF16 ? TFR_DNN_BF16
                                     : TFR_DNN_F32;
}

/* Row-major, or with the channels last. What only the graph sees is f32. */
static tfr_dnn_desc *make_tensor(cuda_dnn_builder *b, int64_t id, int32_t dtype, bool is_aligned,
                                 const int64_t dims[4], bool is_last, bool is_virtual)
{
    const int64_t plain[] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
    const int64_t last[] = {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]};
    const int64_t *strides = is_last ? last : plain;
    const int64_t alignment = is_virtual ? 4 : is_aligned ? 16 : tfr_dtype_bits(dtype) / 8;
    tfr_dnn_desc *tensor = cuda_dnn_create(b, TFR_DNN_TENSOR);

    cuda_dnn_set_type(b, tensor, TFR_DNN_TENSOR_TYPE, is_virtual ? TFR_DNN_F32 : type_of(dtype));
    cuda_dnn_set_ints(b, tensor, TFR_DNN_TENSOR_DIMS, 4, dims);
    cuda_dnn_set_ints(b, tensor, TFR_DNN_TENSOR_STRIDES, 4, strides);
    cuda_dnn_set_ints(b, tensor, TFR_DNN_TENSOR_ID, 1, &id);
    cuda_dnn_set_ints(b, tensor, TFR_DNN_TENSOR_ALIGNMENT, 1, &alignment);
    if (is_virtual)
        cuda_dnn_set(b, tensor, TFR_DNN_TENSOR_IS_VIRTUAL, TFR_DNN_TYPE_BOOLEAN, 1, &is_virtual);
    return cuda_dnn_finish(b, tensor);
}

/* How the window moves; sums are f32, whatever the elements. */
static tfr_dnn_desc *make_window(cuda_dnn_builder *b, const cuda_convolution *c)
{
    const int64_t n = 2;
    const unsigned mode = TFR_DNN_CROSS_CORRELATION;
    tfr_dnn_desc *window = cuda_dnn_create(b, TFR_DNN_CONV);

    cuda_dnn_set_type(b, window, TFR_DNN_CONV_COMPUTE_TYPE, TFR_DNN_F32);
    cuda_dnn_set(b, window, TFR_DNN_CONV_MODE, TFR_DNN_TYPE_CONV_MODE, 1, &mode);
    cuda_dnn_set_ints(b, window, TFR_DNN_CONV_SPATIAL_DIMS, 1, &n);
    cuda_dnn_set_ints(b, window, TFR_DNN_CONV_STRIDES, 2, c->stride);
    cuda_dnn_set_ints(b, window, TFR_DNN_CONV_DILATIONS, 2, c->dilation);
    cuda_dnn_set_ints(b, window, TFR_DNN_CONV_PRE_PADDINGS, 2, c->pad);
    cuda_dnn_set_ints(b, window, TFR_DNN_CONV_POST_PADDINGS, 2, c->pad_end);
    return cuda_dnn_finish(b, window);
}

static tfr_dnn_desc *make_operation(cuda_dnn_builder *b, const cuda_convolution *c, int32_t dtype,
                                    tfr_dnn_desc *y)
{
    static const struct {
        unsigned kind, conv, x, w, y, alpha, beta;
    } names[] = {
        [CUDA_CONV_FORWARD] = {TFR_DNN_OP_CONV_FORWARD, TFR_DNN_FORWARD_CONV, TFR_DNN_FORWARD_X,
                               TFR_DNN_FORWARD_W, TFR_DNN_FORWARD_Y, TFR_DNN_FORWARD_ALPHA,
                               TFR_DNN_FORWARD_BETA},
        [CUDA_CONV_GRAD_INPUT] = {TFR_DNN_OP_CONV_BACKWARD_DATA, TFR_DNN_BACKWARD_DATA_CONV,
                                  TFR_DNN_BACKWARD_DATA_DX, TFR_DNN_BACKWARD_DATA_W,
                                  TFR_DNN_BACKWARD_DATA_DY, TFR_DNN_BACKWARD_DATA_ALPHA,
                                  TFR_DNN_BACKWARD_DATA_BETA},
        [CUDA_CONV_GRAD_FILTER] = {TFR_DNN_OP_CONV_BACKWARD_FILTER, TFR_DNN_BACKWARD_FILTER_CONV,
                                   TFR_DNN_BACKWARD_FILTER_X, TFR_DNN_BACKWARD_FILTER_DW,
                                   TFR_DNN_BACKWARD_FILTER_DY, TFR_DNN_BACKWARD_FILTER_ALPHA,
                                   TFR_DNN_BACKWARD_FILTER_BETA},
    };
    const float one = 1, zero = 0;
    tfr_dnn_desc *operation = cuda_dnn_create(b, names[c->kind].kind);

    cuda_dnn_set_desc(b, operation, names[c->kind].conv, make_window(b, c));
    cuda_dnn_set_desc(
        b, operation, names[c->kind].x,
        make_tensor(b, CUDA_DNN_X, dtype, c->is_aligned, c->x_dims, c->x_last, false));
    cuda_dnn_set_desc(b, operation, names[c->kind].w,
                      make_tensor(b, CUDA_DNN_W, dtype, c->is_aligned, c->w_dims, false, false));
    cuda_dnn_set_desc(b, operation, names[c->kind].y, y);
    cuda_dnn_set(b, operation, names[c->kind].alpha, TFR_DNN_TYPE_FLOAT, 1, &one);
    cuda_dnn_set(b, operation, names[c->kind].beta, TFR_DNN_TYPE_FLOAT, 1, &zero);
    return cuda_dnn_finish(b, operation);
}

/* What one operation behind the convolution takes and makes. */
typedef struct pointwise {
    unsigned mode;
    tfr_dnn_desc *x, *b, *y; /* b of an addition */
    const float *ceiling;    /* of Relu, or NULL */
} pointwise;

static tfr_dnn_desc *make_pointwise(cuda_dnn_builder *b, const pointwise *p)
{
    const double zero = 0, ceiling = p->ceiling ? (double)*p->ceiling : 0;
    tfr_dnn_desc *what = cuda_dnn_create(b, TFR_DNN_POINTWISE), *operation;

    cuda_dnn_set(b, what, TFR_DNN_POINTWISE_MODE, TFR_DNN_TYPE_POINTWISE_MODE, 1, &p->mode);
    cuda_dnn_set_type(b, what, TFR_DNN_POINTWISE_PRECISION, TFR_DNN_F32);
    if (p->ceiling) {
        cuda_dnn_set(b, what, TFR_DNN_POINTWISE_RELU_LOWER_CLIP, TFR_DNN_TYPE_DOUBLE, 1, &zero);
        cuda_dnn_set(b, what, TFR_DNN_POINTWISE_RELU_UPPER_CLIP, TFR_DNN_TYPE_DOUBLE, 1, &ceiling);
    }
    cuda_dnn_finish(b, what);
    operation = cuda_dnn_create(b, TFR_DNN_OP_POINTWISE);
    cuda_dnn_set_desc(b, operation, TFR_DNN_OP_POINTWISE_DESC, what);
    cuda_dnn_set_desc(b, operation, TFR_DNN_OP_POINTWISE_X, p->x);
    if (p->b)
        cuda_dnn_set_desc(b, operation, TFR_DNN_OP_POINTWISE_B, p->b);
    cuda_dnn_set_desc(b, operation, TFR_DNN_OP_POINTWISE_Y, p->y);
    return cuda_dnn_finish(b, operation);
}

/* y = Relu(sum + addend + bias), as far as they are there, in the order that the library's engines
 * are made for. */
static tfr_dnn_desc *make_graph(cuda_dnn_builder *b, const cuda_dnn_target *target,
                                const cuda_convolution *c, int32_t dtype)
{
    const int64_t of_channels[] = {1, c->y_dims[1], 1, 1};
    const struct {
        bool is_there;
        unsigned mode;
        int64_t id; /* of what is added, with its dims */
        const int64_t *dims;
        bool is_last;
    } ends[] = {
        {c->addend != CUDA_NO_OPERAND, TFR_DNN_POINTWISE_ADD, CUDA_DNN_ADDEND, c->y_dims,
         c->addend_last},
        {c->bias != CUDA_NO_OPERAND, TFR_DNN_POINTWISE_ADD, CUDA_DNN_BIAS, of_channels, false},
        {c->has_relu, TFR_DNN_POINTWISE_RELU_FORWARD, 0, NULL, false},
    };
    const int64_t n_ends = ends[0].is_there + ends[1].is_there + ends[2].is_there;
    tfr_dnn_desc *operations[4] = {NULL}, *y, *graph;
    int64_t n = 0;

    y = make_tensor(b, n_ends ? CUDA_DNN_SUM : CUDA_DNN_Y, dtype, c->is_aligned, c->y_dims,
                    c->y_last, n_ends > 0);
    operations[n++] = make_operation(b, c, dtype, y);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        pointwise p = {.mode = ends[i].mode, .x = y};
        if (!ends[i].is_there)
            continue;
        if (ends[i].dims)
            p.b = make_tensor(b, ends[i].id, dtype, c->is_aligned, ends[i].dims, ends[i].is_last,
                              false);
        else
            p.ceiling = c->has_ceiling ? &c->ceiling : NULL;
        y = make_tensor(b, n < n_ends ? CUDA_DNN_SUM + n : CUDA_DNN_Y, dtype, c->is_aligned,
                        c->y_dims, c->y_last, n < n_ends);
        p.y = y;
        operations[n++] = make_pointwise(b, &p);
    }
    graph = cuda_dnn_create(b, TFR_DNN_GRAPH);
    if (target->handle) /* without one the heuristics know no chip, and name no engine */
        cuda_dnn_set(b, graph, TFR_DNN_GRAPH_HANDLE, TFR_DNN_TYPE_HANDLE, 1, &target->handle);
    cuda_dnn_set(b, graph, TFR_DNN_GRAPH_OPS, TFR_DNN_TYPE_DESCRIPTOR, n, operations);
    return cuda_dnn_finish(b, graph);
}

/* ---- the engine of the library --------------------------------------------------------------- */

typedef struct request {
    const cuda_dnn_target *target;
    unsigned refused, wanted; /* notes */
    uint64_t most_workspace;
    cuda_dnn_plans *plans;
} request;

static bool is_unsupported(tfr_dnn_status status)
{
    return status / 1000 == TFR_DNN_NOT_SUPPORTED / 1000;
}

/* The notes of one kind as bits. */
static int32_t get_notes(tfr_dnn_desc *engine, unsigned attribute, unsigned type, unsigned *out,
                         tfr_err *err)
{
    unsigned notes[MAX_NOTES];
    int64_t n = 0;
    int32_t status = cuda_dnn_check(
        cuda_dnn.cudnnBackendGetAttribute(engine, attribute, type, MAX_NOTES, &n, notes),
        "the notes of an engine", err);

    *out = 0;
    for (int64_t i = 0; i < n && i < MAX_NOTES && status == TFR_OK; i++)
        if (notes[i] < 32)
            *out |= 1u << notes[i];
    return status;
}

static int64_t number_of(tfr_dnn_desc *engine)
{
    int64_t n = 0, number = -1;
    const tfr_dnn_status status = cuda_dnn.cudnnBackendGetAttribute(
        engine, TFR_DNN_ENGINE_INDEX, TFR_DNN_TYPE_INT64, 1, &n, &number);

    return status == TFR_DNN_SUCCESS && n == 1 ? number : -1;
}

/* Which engine it is, and what that does to numbers; *is_slow: it is compiled when a plan is made
 * of it. */
static int32_t look_at(const request *r, tfr_dnn_desc *config, cuda_dnn_plan *plan, bool *is_slow,
                       tfr_err *err)
{
    cuda_dnn_builder b = {.what = "an engine for a convolution", .err = err};
    tfr_dnn_desc *engine = cuda_dnn_create(&b, TFR_DNN_ENGINE);
    unsigned behavior = 0;
    int64_t n = 0;

    if (b.status == TFR_OK)
        b.status = cuda_dnn_check(
            cuda_dnn.cudnnBackendGetAttribute(config, TFR_DNN_ENGINE_CFG_ENGINE,
                                              TFR_DNN_TYPE_DESCRIPTOR, 1, &n, &engine),
            b.what, err);
    if (b.status == TFR_OK)
        b.status = get_notes(engine, TFR_DNN_ENGINE_NUMERICAL_NOTES, TFR_DNN_TYPE_NUMERICAL_NOTE,
                             &plan->notes, err);
    if (b.status == TFR_OK)
        b.status = get_notes(engine, TFR_DNN_ENGINE_BEHAVIOR_NOTES, TFR_DNN_TYPE_BEHAVIOR_NOTE,
                             &behavior, err);
    *is_slow = behavior & 1u << TFR_DNN_BEHAVIOR_RUNTIME_COMPILATION;
    plan->engine = b.status == TFR_OK && r->plans->wants_engine ? number_of(engine) : -1;
    cuda_dnn_drop(&b);
    return b.status;
}

/* out->plan stays NULL where the engine has none for this chip, or one that takes too much memory.
 */
static int32_t make_plan(const request *r, tfr_dnn_desc *config, cuda_dnn_plan *out, tfr_err *err)
{
    cuda_dnn_builder b = {.what = "a plan of a convolution", .err = err};
    tfr_dnn_desc *plan = cuda_dnn_create(&b, TFR_DNN_PLAN);
    tfr_dnn_status result = TFR_DNN_SUCCESS;
    int64_t n = 0, workspace = -1;

    if (r->target->properties)
        cuda_dnn_set_desc(&b, plan, TFR_DNN_PLAN_DEVICE_PROP, r->target->properties);
    else
        cuda_dnn_set(&b, plan, TFR_DNN_PLAN_HANDLE, TFR_DNN_TYPE_HANDLE, 1, &r->target->handle);
    cuda_dnn_set_desc(&b, plan, TFR_DNN_PLAN_ENGINE_CFG, config);
    if (b.status == TFR_OK)
        result = cuda_dnn.cudnnBackendFinalize(plan);
    if (b.status == TFR_OK && !is_unsupported(result))
        b.status = cuda_dnn_check(result, b.what, err);
    if (b.status == TFR_OK && result == TFR_DNN_SUCCESS)
        b.status =
            cuda_dnn_check(cuda_dnn.cudnnBackendGetAttribute(plan, TFR_DNN_PLAN_WORKSPACE,
                                                             TFR_DNN_TYPE_INT64, 1, &n, &workspace),
                           b.what, err);
    if (b.status == TFR_OK && workspace >= 0 && (uint64_t)workspace <= r->most_workspace) {
        out->plan = plan;
        out->workspace_bytes = (uint64_t)workspace;
        b.n = 0; /* it is kept */
    }
    cuda_dnn_drop(&b);
    return b.status;
}

/* Configurations of engines, as a heuristic names them. */
typedef struct config_list {
    tfr_dnn_desc *all[MAX_CONFIGS];
    int64_t n, n_found; /* made; filled in by the library */
} config_list;

static int32_t list_configs(tfr_dnn_desc *heuristic, config_list *list, const char *what,
                            tfr_err *err)
{
    int64_t n = 0;
    int32_t status =
        cuda_dnn_check(cuda_dnn.cudnnBackendGetAttribute(heuristic, TFR_DNN_ENGINE_HEUR_RESULTS,
                                                         TFR_DNN_TYPE_DESCRIPTOR, 0, &n, NULL),
                       what, err);

    while (status == TFR_OK && list->n < n && list->n < MAX_CONFIGS) {
        status = cuda_dnn_check(
            cuda_dnn.cudnnBackendCreateDescriptor(TFR_DNN_ENGINE_CFG, &list->all[list->n]), what,
            err);
        list->n += status == TFR_OK;
    }
    if (status == TFR_OK && list->n > 0)
        status = cuda_dnn_check(cuda_dnn.cudnnBackendGetAttribute(
                                    heuristic, TFR_DNN_ENGINE_HEUR_RESULTS, TFR_DNN_TYPE_DESCRIPTOR,
                                    list->n, &list->n_found, list->all),
                                what, err);
    return status;
}

/* Makes plans of engines that will do, whose configurations are taken out of the list. offset: the
 * number of the first one of the list. */
static int32_t choose(const request *r, config_list *list, int64_t offset, tfr_err *err)
{
    cuda_dnn_plans *plans = r->plans;
    int32_t status = TFR_OK;

    for (int64_t i = 0; i < list->n_found && status == TFR_OK && plans->n < plans->most; i++) {
        cuda_dnn_plan plan = {.number = offset + i};
        bool is_slow = false;
        if (plan.number < plans->first)
            continue;
        status = look_at(r, list->all[i], &plan, &is_slow, err);
        if (status != TFR_OK || plan.notes & r->refused || r->wanted & ~plan.notes || is_slow)
            continue;
        status = make_plan(r, list->all[i], &plan, err);
        if (!plan.plan)
            continue;
        plan.config = list->all[i];
        list->all[i] = NULL;
        plans->all[plans->n++] = plan;
    }
    return status;
}

/* Tries the engines that the library's heuristic of this mode names, the best first. */
static int32_t ask(const request *r, tfr_dnn_desc *graph, unsigned mode, tfr_err *err)
{
    cuda_dnn_builder b = {.what = "the choice of an engine for a convolution", .err = err};
    tfr_dnn_desc *heuristic = cuda_dnn_create(&b, TFR_DNN_ENGINE_HEUR);
    tfr_dnn_status result = TFR_DNN_SUCCESS;
    config_list list = {.n = 0};

    cuda_dnn_set_desc(&b, heuristic, TFR_DNN_ENGINE_HEUR_GRAPH, graph);
    cuda_dnn_set(&b, heuristic, TFR_DNN_ENGINE_HEUR_MODE, TFR_DNN_TYPE_HEUR_MODE, 1, &mode);
    if (r->target->properties)
        cuda_dnn_set_desc(&b, heuristic, TFR_DNN_ENGINE_HEUR_DEVICE_PROP, r->target->properties);
    if (b.status == TFR_OK)
        result = cuda_dnn.cudnnBackendFinalize(heuristic);
    /* What one heuristic does not know the other may. */
    if (!is_unsupported(result)) {
        if (b.status == TFR_OK)
            b.status = cuda_dnn_check(result, b.what, err);
        if (b.status == TFR_OK)
            b.status = list_configs(heuristic, &list, b.what, err);
        if (b.status == TFR_OK)
            b.status = choose(r, &list, mode == TFR_DNN_HEUR_A ? 0 : MAX_CONFIGS, err);
    }
    for (int64_t i = 0; i < list.n; i++)
        if (list.all[i])
            (void)cuda_dnn.cudnnBackendDestroyDescriptor(list.all[i]);
    cuda_dnn_drop(&b);
    return b.status;
}

/* As much memory as x, w and y take, twice, if that is more than 32 MiB: the engines on tensor
 * cores bring them into another order first. */
static uint64_t most_workspace(const cuda_convolution *c, int32_t dtype)
{
    const int64_t *const dims[] = {c->x_dims, c->w_dims, c->y_dims};
    uint64_t bytes = 0;

    for (int i = 0; i < 3; i++)
        bytes += (uint64_t)(dims[i][0] * dims[i][1] * dims[i][2] * dims[i][3]) *
                 tfr_dtype_bits(dtype) / 8;
    return 2 * bytes > 32 * MIB ? 2 * bytes : 32 * MIB;
}

static unsigned refused_notes(int32_t dtype, int32_t math_mode)
{
    const unsigned always =
        NOTE(DOWN_CONVERT) | NOTE(REDUCED_REDUCTION) | NOTE(FFT) | NOTE(NONDETERMINISTIC);
    const bool is_strict = dtype == TFR_DTYPE_F32 && math_mode < TFR_MATH_TF32;

    return is_strict ? always | NOTE(TENSOR_CORE) : always;
}

/*
 * Small convolutions in TF32 the library thinks faster without tensor cores, which holds for plain
 * images: with the channels last such an engine brings them into the plain order first.
 */
static unsigned wanted_notes(const cuda_convolution *c, unsigned refused)
{
    const bool has_last = c->x_last || c->y_last || c->addend_last;

    return has_last ? NOTE(TENSOR_CORE) & ~refused : 0;
}

int32_t cuda_dnn_plans_make(const cuda_dnn_target *target, const cuda_convolution *convolution,
                            int32_t dtype, int32_t math_mode, cuda_dnn_plans *plans, tfr_err *err)
{
    request r = {
        .target = target,
        .refused = refused_notes(dtype, math_mode),
        .most_workspace = most_workspace(convolution, dtype),
        .plans = plans,
    };
    cuda_dnn_builder b = {.what = "the graph of a convolution", .err = err};
    tfr_dnn_desc *graph = make_graph(&b, target, convolution, dtype);

    plans->n = 0;
    r.wanted = wanted_notes(convolution, r.refused);
    if (b.status == TFR_OK && r.wanted && plans->first < MAX_CONFIGS)
        b.status = ask(&r, graph, TFR_DNN_HEUR_A, err);
    r.wanted = 0;
    if (b.status == TFR_OK && !plans->n && plans->first < MAX_CONFIGS)
        b.status = ask(&r, graph, TFR_DNN_HEUR_A, err);
    if (b.status == TFR_OK && !plans->n)
        b.status = ask(&r, graph, TFR_DNN_HEUR_FALLBACK, err);
    if (b.status == TFR_OK && !plans->n)
        b.status = tfr_fail(err, TFR_EUNSUPPORTED, "cuDNN has no engine for this convolution");
    cuda_dnn_drop(&b);
    return plans->n ? TFR_OK : b.status; /* one that fails behind others is passed over */
}

int32_t cuda_dnn_plan_make(const cuda_dnn_target *target, const cuda_convolution *convolution,
                           int32_t dtype, int32_t math_mode, cuda_dnn_plan *out, tfr_err *err)
{
    cuda_dnn_plans plans = {.most = 1};
    const int32_t status = cuda_dnn_plans_make(target, convolution, dtype, math_mode, &plans, err);

    *out = plans.n ? plans.all[0] : (cuda_dnn_plan){.plan = NULL};
    return status;
}

void cuda_dnn_plan_drop(cuda_dnn_plan *plan)
{
    if (plan->plan)
        (void)cuda_dnn.cudnnBackendDestroyDescriptor(plan->plan);
    if (plan->config)
        (void)cuda_dnn.cudnnBackendDestroyDescriptor(plan->config);
}
