/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in of cuDNN 9 for tests, tests/cuda/libcudnn.so.9: two-dimensional convolutions and
 * their gradients behind the vendor's descriptors, by plain loops in the streams of the driver
 * stand-in, which must be open. After a forward convolution may come additions and ReLU; other
 * patterns have no engine. The engines differ in their notes, the time that they take and their
 * workspace, all over which they write; one with the note TENSOR_CORE rounds f32 to TF32. How often
 * engine 2 ran is told as the calls of "engine 2", and how many images lay plain for one on tensor
 * cores, which has to convert them, as those of "conversion". A graph without a handle has no
 * engines, as its chip is not known. A handle allocates with its first plan that runs, so that this
 * one cannot be captured. Plans as text are not supported.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "cudnn_abi.h"
#include "fake_cudnn.h"
#define FAKE_LIBRARY
#include "fake_library.h"

#define EXPORT                        __attribute__((visibility("default")))
#define X(name, required, since, who) EXPORT tfr_##name##_fn name;
#include "cudnn.def"
#undef X

/* How many handles and descriptors there are: tests ask for it by dlsym. */
EXPORT unsigned tfr_fake_cudnn_held(void);
EXPORT fake_library_calls_fn tfr_fake_cudnn_calls;
EXPORT fake_library_fail_fn tfr_fake_cudnn_fail;
EXPORT fake_library_cost_fn tfr_fake_cudnn_cost;
static atomic_uint n_held;

/* All of them, so that LeakSanitizer finds those of a GPU that is lost, which nobody destroys. */
typedef struct fake_link {
    struct fake_link *next, **at;
} fake_link;
static fake_link *objects;
static pthread_mutex_t objects_mutex = PTHREAD_MUTEX_INITIALIZER;

static void add_object(fake_link *link)
{
    pthread_mutex_lock(&objects_mutex);
    *link = (fake_link){.next = objects, .at = &objects};
    if (objects)
        objects->at = &link->next;
    objects = link;
    pthread_mutex_unlock(&objects_mutex);
}

static void remove_object(fake_link *link)
{
    pthread_mutex_lock(&objects_mutex);
    *link->at = link->next;
    if (link->next)
        link->next->at = link->at;
    pthread_mutex_unlock(&objects_mutex);
}

EXPORT unsigned tfr_fake_cudnn_held(void)
{
    return atomic_load(&n_held);
}

EXPORT unsigned tfr_fake_cudnn_calls(const char *name)
{
    return fake_calls(name);
}

EXPORT void tfr_fake_cudnn_fail(const char *name, unsigned nth, unsigned code)
{
    fake_fail(name, nth, code);
}

EXPORT void tfr_fake_cudnn_cost(unsigned number, double ms)
{
    fake_set_cost(number, ms);
}

/* ------------------------------------------------------------------------------------------
 * Handles and errors.
 */
struct tfr_dnn_handle {
    fake_link link;
    fake_launch_fn *launch;
    fake_spend_fn *spend;
    tfr_cuMemHostAlloc_fn *allocate;
    tfr_cuMemFreeHost_fn *release;
    tfr_cu_stream *stream;
    atomic_bool warm;
};

static _Thread_local char last_error[128];

static tfr_dnn_status fail(tfr_dnn_status status, const char *text)
{
    snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

tfr_dnn_status cudnnCreate(tfr_dnn_handle **handle)
{
    FAKE_CALL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return fail(TFR_DNN_NOT_INITIALIZED, "no driver is open");
    tfr_dnn_handle *h = calloc(1, sizeof *h);
    if (!h)
        return fail(TFR_DNN_HOST_ALLOCATION_FAILED, "handle");
    *(void **)&h->launch = dlsym(driver, "tfr_fake_cuda_launch");
    *(void **)&h->spend = dlsym(driver, "tfr_fake_cuda_spend");
    *(void **)&h->allocate = dlsym(driver, "cuMemHostAlloc");
    *(void **)&h->release = dlsym(driver, "cuMemFreeHost");
    atomic_fetch_add(&n_held, 1);
    add_object(&h->link);
    *handle = h;
    return TFR_DNN_SUCCESS;
}

tfr_dnn_status cudnnDestroy(tfr_dnn_handle *handle)
{
    fake_called(__func__);
    atomic_fetch_sub(&n_held, 1);
    if (handle)
        remove_object(&handle->link);
    free(handle);
    return TFR_DNN_SUCCESS;
}

tfr_dnn_status cudnnSetStream(tfr_dnn_handle *handle, tfr_cu_stream *stream)
{
    FAKE_CALL;
    handle->stream = stream;
    return TFR_DNN_SUCCESS;
}

size_t cudnnGetVersion(void)
{
    return 91900;
}

const char *cudnnGetErrorString(tfr_dnn_status status)
{
    switch (status / 1000) {
    case 0:
        return "CUDNN_STATUS_SUCCESS";
    case 1:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case 2:
        return "CUDNN_STATUS_BAD_PARAM";
    case 3:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case 4:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    default:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    }
}

void cudnnGetLastErrorString(char *text, size_t n)
{
    snprintf(text, n, "%s", last_error);
}

/* ------------------------------------------------------------------------------------------
 * Descriptors: attributes as they were set. One that is an attribute of another lives with it.
 */
typedef struct fake_attr {
    struct fake_attr *next;
    unsigned name, type;
    int64_t n;
    unsigned char data[];
} fake_attr;

typedef struct fake_desc {
    fake_link link;
    unsigned kind, n_refs;
    bool finalized;
    fake_attr *attrs;
    int64_t engine; /* of engines and their configurations */
    struct fake_desc *graph;
} fake_desc;

static size_t type_size(unsigned type)
{
    switch (type) {
    case TFR_DNN_TYPE_BOOLEAN:
    case TFR_DNN_TYPE_CHAR:
        return 1;
    case TFR_DNN_TYPE_HANDLE:
    case TFR_DNN_TYPE_INT64:
    case TFR_DNN_TYPE_DOUBLE:
    case TFR_DNN_TYPE_POINTER:
    case TFR_DNN_TYPE_DESCRIPTOR:
        return 8;
    default:
        return 4;
    }
}

static fake_attr *find_attr(const fake_desc *desc, unsigned name)
{
    fake_attr *a = desc ? desc->attrs : NULL;
    while (a && a->name != name)
        a = a->next;
    return a;
}

static void release(fake_desc *desc)
{
    if (!desc || --desc->n_refs > 0)
        return;
    while (desc->attrs) {
        fake_attr *a = desc->attrs;
        for (int64_t i = 0; a->type == TFR_DNN_TYPE_DESCRIPTOR && i < a->n; i++)
            release(((fake_desc **)a->data)[i]);
        desc->attrs = a->next;
        free(a);
    }
    release(desc->graph);
    remove_object(&desc->link);
    free(desc);
}

tfr_dnn_status cudnnBackendCreateDescriptor(unsigned kind, tfr_dnn_desc **out)
{
    FAKE_CALL;
    fake_desc *desc = calloc(1, sizeof *desc);
    if (!desc)
        return fail(TFR_DNN_HOST_ALLOCATION_FAILED, "descriptor");
    desc->kind = kind;
    desc->n_refs = 1;
    add_object(&desc->link);
    atomic_fetch_add(&n_held, 1);
    *out = desc;
    return TFR_DNN_SUCCESS;
}

tfr_dnn_status cudnnBackendDestroyDescriptor(tfr_dnn_desc *desc)
{
    fake_called(__func__);
    if (desc)
        atomic_fetch_sub(&n_held, 1);
    release(desc);
    return TFR_DNN_SUCCESS;
}

tfr_dnn_status cudnnBackendSetAttribute(tfr_dnn_desc *handle, unsigned name, unsigned type,
                                        int64_t n, const void *elements)
{
    FAKE_CALL;
    fake_desc *desc = handle;
    if (!desc || !elements || n < 0)
        return fail(TFR_DNN_BAD_PARAM_NULL, "attribute without elements");
    if (desc->finalized || find_attr(desc, name))
        return fail(TFR_DNN_BAD_PARAM,
                    "attribute is set twice, or after the descriptor was finalized");
    const size_t bytes = (size_t)n * type_size(type);
    fake_attr *a = malloc(sizeof *a + bytes);
    if (!a)
        return fail(TFR_DNN_HOST_ALLOCATION_FAILED, "attribute");
    *a = (fake_attr){.next = desc->attrs, .name = name, .type = type, .n = n};
    memcpy(a->data, elements, bytes);
    desc->attrs = a;
    for (int64_t i = 0; type == TFR_DNN_TYPE_DESCRIPTOR && i < n; i++) {
        fake_desc *part = ((fake_desc **)a->data)[i];
        part->n_refs++;
        if (!part->finalized)
            return fail(TFR_DNN_BAD_PARAM_NOT_FINALIZED, "descriptor in an attribute");
    }
    return TFR_DNN_SUCCESS;
}

static bool take(const fake_desc *desc, unsigned name, unsigned type, int64_t n, void *to)
{
    const fake_attr *a = find_attr(desc, name);
    if (!a || a->type != type || a->n != n)
        return false;
    memcpy(to, a->data, (size_t)n * type_size(type));
    return true;
}

static fake_desc *part(const fake_desc *desc, unsigned name)
{
    fake_desc *p = NULL;
    return take(desc, name, TFR_DNN_TYPE_DESCRIPTOR, 1, &p) ? p : NULL;
}

/* ------------------------------------------------------------------------------------------
 * From descriptors to a job.
 */
static fake_type type_of(unsigned type)
{
    switch (type) {
    case TFR_DNN_F32:
        return FAKE_F32;
    case TFR_DNN_F16:
        return FAKE_F16;
    case TFR_DNN_BF16:
        return FAKE_BF16;
    default:
        return FAKE_NO_TYPE;
    }
}

static bool read_tensor(const fake_desc *desc, fake_tensor *t)
{
    unsigned type;
    *t = (fake_tensor){.type = FAKE_F32};
    if (!take(desc, TFR_DNN_TENSOR_TYPE, TFR_DNN_TYPE_DATA_TYPE, 1, &type) ||
        !take(desc, TFR_DNN_TENSOR_DIMS, TFR_DNN_TYPE_INT64, 4, t->dims) ||
        !take(desc, TFR_DNN_TENSOR_STRIDES, TFR_DNN_TYPE_INT64, 4, t->strides) ||
        !take(desc, TFR_DNN_TENSOR_ID, TFR_DNN_TYPE_INT64, 1, &t->id) ||
        !take(desc, TFR_DNN_TENSOR_ALIGNMENT, TFR_DNN_TYPE_INT64, 1, &t->alignment))
        return false;
    take(desc, TFR_DNN_TENSOR_IS_VIRTUAL, TFR_DNN_TYPE_BOOLEAN, 1, &t->is_virtual);
    t->type = type_of(type);
    return t->type != FAKE_NO_TYPE && t->alignment % (int64_t)fake_size(t->type) == 0 &&
           t->alignment > 0;
}

static double read_scale(const fake_desc *op, unsigned name, double otherwise)
{
    float f;
    double d;
    if (take(op, name, TFR_DNN_TYPE_FLOAT, 1, &f))
        return (double)f;
    return take(op, name, TFR_DNN_TYPE_DOUBLE, 1, &d) ? d : otherwise;
}

static bool read_conv(const fake_desc *desc, fake_conv *conv)
{
    int64_t n = 0;
    unsigned mode = TFR_DNN_CROSS_CORRELATION;
    bool good = take(desc, TFR_DNN_CONV_SPATIAL_DIMS, TFR_DNN_TYPE_INT64, 1, &n) && n == 2 &&
                take(desc, TFR_DNN_CONV_DILATIONS, TFR_DNN_TYPE_INT64, 2, conv->dilation) &&
                take(desc, TFR_DNN_CONV_STRIDES, TFR_DNN_TYPE_INT64, 2, conv->stride) &&
                take(desc, TFR_DNN_CONV_PRE_PADDINGS, TFR_DNN_TYPE_INT64, 2, conv->pad) &&
                take(desc, TFR_DNN_CONV_POST_PADDINGS, TFR_DNN_TYPE_INT64, 2, conv->pad_end) &&
                take(desc, TFR_DNN_CONV_MODE, TFR_DNN_TYPE_CONV_MODE, 1, &mode);
    conv->flip = mode == TFR_DNN_CONVOLUTION;
    return good;
}

/* The names of alpha, beta, the convolution, w, x, y in the three operations. */
static bool read_first_op(const fake_desc *op, fake_conv *conv)
{
    static const unsigned names[3][6] = {
        {TFR_DNN_FORWARD_ALPHA, TFR_DNN_FORWARD_BETA, TFR_DNN_FORWARD_CONV, TFR_DNN_FORWARD_W,
         TFR_DNN_FORWARD_X, TFR_DNN_FORWARD_Y},
        {TFR_DNN_BACKWARD_FILTER_ALPHA, TFR_DNN_BACKWARD_FILTER_BETA, TFR_DNN_BACKWARD_FILTER_CONV,
         TFR_DNN_BACKWARD_FILTER_DW, TFR_DNN_BACKWARD_FILTER_X, TFR_DNN_BACKWARD_FILTER_DY},
        {TFR_DNN_BACKWARD_DATA_ALPHA, TFR_DNN_BACKWARD_DATA_BETA, TFR_DNN_BACKWARD_DATA_CONV,
         TFR_DNN_BACKWARD_DATA_W, TFR_DNN_BACKWARD_DATA_DX, TFR_DNN_BACKWARD_DATA_DY},
    };
    if (op->kind < TFR_DNN_OP_CONV_FORWARD || op->kind > TFR_DNN_OP_CONV_BACKWARD_DATA)
        return false;
    const unsigned *name = names[op->kind - TFR_DNN_OP_CONV_FORWARD];
    conv->kind = op->kind;
    conv->alpha = read_scale(op, name[0], 1);
    conv->beta = read_scale(op, name[1], 0);
    bool good = read_conv(part(op, name[2]), conv) && read_tensor(part(op, name[3]), &conv->w) &&
                read_tensor(part(op, name[4]), &conv->x) &&
                read_tensor(part(op, name[5]), &conv->y);
    conv->out = op->kind == TFR_DNN_OP_CONV_FORWARD         ? conv->y
                : op->kind == TFR_DNN_OP_CONV_BACKWARD_DATA ? conv->x
                                                            : conv->w;
    return good && conv->w.dims[1] > 0 && conv->x.dims[1] % conv->w.dims[1] == 0;
}

/* Whether the window has so many places on x. */
static bool has_right_dims(const fake_conv *conv)
{
    const int64_t *x = conv->x.dims, *w = conv->w.dims, *y = conv->y.dims;
    for (int d = 0; d < 2; d++) {
        const int64_t window = conv->dilation[d] * (w[d + 2] - 1) + 1;
        const int64_t room = x[d + 2] + conv->pad[d] + conv->pad_end[d] - window;
        if (room < 0 || y[d + 2] != room / conv->stride[d] + 1)
            return false;
    }
    return y[0] == x[0] && y[1] == w[0];
}

/* Each takes what the one before made, which nobody else sees. */
static bool read_pointwise(const fake_desc *op, fake_conv *conv)
{
    fake_tensor x, y;
    unsigned mode;
    const unsigned i = conv->n_pointwise;
    if (op->kind != TFR_DNN_OP_POINTWISE || conv->kind != TFR_DNN_OP_CONV_FORWARD ||
        i == MAX_POINTWISE || !read_tensor(part(op, TFR_DNN_OP_POINTWISE_X), &x) ||
        !read_tensor(part(op, TFR_DNN_OP_POINTWISE_Y), &y) || x.id != conv->out.id ||
        !conv->out.is_virtual ||
        !take(part(op, TFR_DNN_OP_POINTWISE_DESC), TFR_DNN_POINTWISE_MODE,
              TFR_DNN_TYPE_POINTWISE_MODE, 1, &mode))
        return false;
    if (mode == TFR_DNN_POINTWISE_ADD) {
        if (!read_tensor(part(op, TFR_DNN_OP_POINTWISE_B), &conv->addends[i]))
            return false;
    } else if (mode != TFR_DNN_POINTWISE_RELU_FORWARD) {
        return false;
    }
    conv->ceilings[i] = INFINITY;
    take(part(op, TFR_DNN_OP_POINTWISE_DESC), TFR_DNN_POINTWISE_RELU_UPPER_CLIP,
         TFR_DNN_TYPE_DOUBLE, 1, &conv->ceilings[i]);
    conv->modes[i] = mode;
    conv->out = y;
    conv->n_pointwise++;
    return true;
}

static bool read_graph(const fake_desc *graph, fake_conv *conv)
{
    const fake_attr *ops = find_attr(graph, TFR_DNN_GRAPH_OPS);
    memset(conv, 0, sizeof *conv);
    if (!ops || ops->n < 1)
        return false;
    fake_desc *const *op = (fake_desc *const *)ops->data;
    bool good = read_first_op(op[0], conv);
    for (int64_t i = 1; good && i < ops->n; i++)
        good = read_pointwise(op[i], conv);
    return good && !conv->out.is_virtual;
}

/* ------------------------------------------------------------------------------------------
 * Engines. The heuristic of mode A has the first ones, the fallback the others.
 */
static const struct {
    int64_t workspace;
    unsigned n_notes, notes[2];
    unsigned n_behaviors, behaviors[1];
} engines[] = {
    {1 << 20, 2, {TFR_DNN_NOTE_TENSOR_CORE, TFR_DNN_NOTE_DOWN_CONVERT}, 0, {0}},
    {0, 1, {TFR_DNN_NOTE_NONDETERMINISTIC}, 0, {0}},
    {0, 1, {TFR_DNN_NOTE_REDUCED_REDUCTION}, 0, {0}},
    {0, 1, {TFR_DNN_NOTE_TENSOR_CORE}, 1, {TFR_DNN_BEHAVIOR_RUNTIME_COMPILATION}},
    {0, 1, {TFR_DNN_NOTE_TENSOR_CORE}, 0, {0}},
    {0, 1, {TFR_DNN_NOTE_FFT}, 0, {0}},
    {INT64_C(1) << 40, 0, {0}, 0, {0}},
    {3400000, 0, {0}, 0, {0}},
    {0, 1, {TFR_DNN_NOTE_NONDETERMINISTIC}, 0, {0}},
    {0, 0, {0}, 0, {0}},
};
enum { N_ENGINES = sizeof engines / sizeof engines[0], N_MODE_A = 8 };

static void make_config(fake_desc *to, fake_desc *graph, int64_t engine)
{
    to->engine = engine;
    release(to->graph);
    to->graph = graph;
    graph->n_refs++;
    to->finalized = true;
}

static tfr_dnn_status give(const void *from, size_t size, int64_t n_have, int64_t n_wanted,
                           int64_t *n, void *to)
{
    *n = to && n_wanted < n_have ? n_wanted : n_have;
    if (to)
        memcpy(to, from, (size_t)*n * size);
    return TFR_DNN_SUCCESS;
}

static tfr_dnn_status get_results(const fake_desc *heur, int64_t n_wanted, int64_t *n, void *to)
{
    fake_desc *graph = part(heur, TFR_DNN_ENGINE_HEUR_GRAPH);
    unsigned mode = TFR_DNN_HEUR_A;
    take(heur, TFR_DNN_ENGINE_HEUR_MODE, TFR_DNN_TYPE_HEUR_MODE, 1, &mode);
    const int64_t first = mode == TFR_DNN_HEUR_FALLBACK ? N_MODE_A : 0;
    const int64_t n_have = !find_attr(graph, TFR_DNN_GRAPH_HANDLE) ? 0
                           : mode == TFR_DNN_HEUR_FALLBACK         ? N_ENGINES - N_MODE_A
                                                                   : N_MODE_A;
    *n = to && n_wanted < n_have ? n_wanted : n_have;
    for (int64_t i = 0; to && i < *n; i++)
        make_config(((fake_desc **)to)[i], graph, first + i);
    return TFR_DNN_SUCCESS;
}

static tfr_dnn_status get_of_plan(const fake_desc *plan, int64_t n_wanted, int64_t *n, void *to)
{
    const fake_desc *config = part(plan, TFR_DNN_PLAN_ENGINE_CFG);
    return give(&engines[config->engine].workspace, 8, 1, n_wanted, n, to);
}

tfr_dnn_status cudnnBackendGetAttribute(tfr_dnn_desc *handle, unsigned name, unsigned type,
                                        int64_t n_wanted, int64_t *n, void *to)
{
    FAKE_CALL;
    const fake_desc *desc = handle;
    int64_t ignored;
    n = n ? n : &ignored;
    if (!desc || !desc->finalized)
        return fail(TFR_DNN_BAD_PARAM_NOT_FINALIZED, "attribute of what is not finalized");
    switch (name) {
    case TFR_DNN_ENGINE_HEUR_RESULTS:
        return get_results(desc, n_wanted, n, to);
    case TFR_DNN_ENGINE_CFG_ENGINE:
        *n = 1;
        if (to && n_wanted > 0)
            make_config(*(fake_desc **)to, desc->graph, desc->engine);
        return TFR_DNN_SUCCESS;
    case TFR_DNN_ENGINE_CFG_WORKSPACE:
        return give(&engines[desc->engine].workspace, 8, 1, n_wanted, n, to);
    case TFR_DNN_ENGINE_INDEX:
        return give(&desc->engine, 8, 1, n_wanted, n, to);
    case TFR_DNN_ENGINE_NUMERICAL_NOTES:
        return give(engines[desc->engine].notes, 4, engines[desc->engine].n_notes, n_wanted, n, to);
    case TFR_DNN_ENGINE_BEHAVIOR_NOTES:
        return give(engines[desc->engine].behaviors, 4, engines[desc->engine].n_behaviors, n_wanted,
                    n, to);
    case TFR_DNN_PLAN_WORKSPACE:
        return get_of_plan(desc, n_wanted, n, to);
    default: {
        const fake_attr *a = find_attr(desc, name);
        if (!a || a->type != type)
            return fail(TFR_DNN_NOT_SUPPORTED, "the stand-in does not have this attribute");
        return give(a->data, type_size(type), a->n, n_wanted, n, to);
    }
    }
}

tfr_dnn_status cudnnBackendFinalize(tfr_dnn_desc *handle)
{
    FAKE_CALL;
    fake_desc *desc = handle;
    fake_tensor tensor;
    fake_conv conv;
    if (!desc)
        return fail(TFR_DNN_BAD_PARAM_NULL, "descriptor");
    if (desc->kind == TFR_DNN_TENSOR && !read_tensor(desc, &tensor))
        return fail(TFR_DNN_BAD_PARAM, "tensor lacks type, dimensions, strides, id or alignment");
    if (desc->kind >= TFR_DNN_OP_CONV_FORWARD && desc->kind <= TFR_DNN_OP_CONV_BACKWARD_DATA) {
        memset(&conv, 0, sizeof conv);
        if (!read_first_op(desc, &conv) || !has_right_dims(&conv))
            return fail(TFR_DNN_BAD_PARAM, "operation lacks a part, or has other dims");
    }
    if (desc->kind == TFR_DNN_ENGINE_HEUR) {
        const fake_desc *graph = part(desc, TFR_DNN_ENGINE_HEUR_GRAPH);
        if (!graph || !read_graph(graph, &conv))
            return fail(TFR_DNN_NOT_SUPPORTED_PATTERN, "no engine for this graph");
    }
    if (desc->kind == TFR_DNN_PLAN &&
        (!part(desc, TFR_DNN_PLAN_ENGINE_CFG) || !find_attr(desc, TFR_DNN_PLAN_HANDLE)))
        return fail(TFR_DNN_BAD_PARAM, "plan without handle or engine");
    desc->finalized = true;
    return TFR_DNN_SUCCESS;
}

/* ------------------------------------------------------------------------------------------
 * Running a plan.
 */
static bool bind(fake_tensor *t, const fake_attr *ids, const fake_attr *pointers)
{
    for (int64_t i = 0; i < ids->n; i++)
        if (((const int64_t *)ids->data)[i] == t->id)
            t->data = ((const uint64_t *)pointers->data)[i];
    return t->data != 0 && t->data % (uint64_t)t->alignment == 0;
}

static bool bind_all(fake_conv *conv, const fake_desc *pack)
{
    const fake_attr *ids = find_attr(pack, TFR_DNN_PACK_IDS);
    const fake_attr *pointers = find_attr(pack, TFR_DNN_PACK_POINTERS);
    if (!ids || !pointers || ids->n != pointers->n || !bind(&conv->out, ids, pointers))
        return false;
    bool good = true;
    if (conv->kind != TFR_DNN_OP_CONV_BACKWARD_DATA)
        good &= bind(&conv->x, ids, pointers);
    if (conv->kind != TFR_DNN_OP_CONV_BACKWARD_FILTER)
        good &= bind(&conv->w, ids, pointers);
    if (conv->kind != TFR_DNN_OP_CONV_FORWARD)
        good &= bind(&conv->y, ids, pointers);
    for (unsigned i = 0; i < conv->n_pointwise; i++)
        if (conv->modes[i] == TFR_DNN_POINTWISE_ADD)
            good &= bind(&conv->addends[i], ids, pointers);
    return good;
}

/* An image that an engine on tensor cores brings into the order that it computes in. */
static void count_conversion(const fake_tensor *t)
{
    if (t->dims[1] > 1 && t->dims[2] * t->dims[3] > 1 && t->strides[1] != 1)
        fake_called("conversion");
}

static void count_conversions(const fake_conv *conv)
{
    if (conv->kind != TFR_DNN_OP_CONV_BACKWARD_DATA)
        count_conversion(&conv->x);
    if (conv->kind != TFR_DNN_OP_CONV_FORWARD)
        count_conversion(&conv->y);
    if (conv->kind != TFR_DNN_OP_CONV_BACKWARD_FILTER)
        count_conversion(&conv->out);
    for (unsigned i = 0; i < conv->n_pointwise; i++)
        if (conv->modes[i] == TFR_DNN_POINTWISE_ADD)
            count_conversion(&conv->addends[i]);
}

tfr_dnn_status cudnnBackendExecute(tfr_dnn_handle *handle, tfr_dnn_desc *plan_handle,
                                   tfr_dnn_desc *pack_handle)
{
    FAKE_CALL;
    const fake_desc *plan = plan_handle, *pack = pack_handle;
    fake_conv conv;
    void *p;
    if (!handle || !plan || !pack || !plan->finalized || !pack->finalized)
        return fail(TFR_DNN_BAD_PARAM_NOT_FINALIZED, "plan or variant pack");
    const fake_desc *config = part(plan, TFR_DNN_PLAN_ENGINE_CFG);
    if (!read_graph(config->graph, &conv) || !bind_all(&conv, pack))
        return fail(TFR_DNN_BAD_PARAM, "a tensor has no pointer, or one that is not aligned");
    conv.workspace_bytes = (size_t)engines[config->engine].workspace;
    take(pack, TFR_DNN_PACK_WORKSPACE, TFR_DNN_TYPE_POINTER, 1, &conv.workspace);
    if (conv.workspace_bytes && !conv.workspace)
        return fail(TFR_DNN_BAD_PARAM_NULL, "workspace");
    conv.spend = handle->spend;
    conv.ms = fake_cost((unsigned)config->engine);
    if (conv.ms < 0)
        return fail(TFR_DNN_EXECUTION_FAILED, "this engine cannot be run");
    conv.rounds = engines[config->engine].n_notes > 0 &&
                  engines[config->engine].notes[0] == TFR_DNN_NOTE_TENSOR_CORE;
    if (conv.rounds)
        count_conversions(&conv);
    if (!atomic_load(&handle->warm)) {
        if (handle->allocate(&p, 64, 0))
            return fail(TFR_DNN_DEVICE_ALLOCATION_FAILED, "first plan of the handle");
        handle->release(p);
        atomic_store(&handle->warm, true);
    }
    void *args[] = {&conv};
    char engine[16];
    snprintf(engine, sizeof engine, "engine %d", (int)config->engine);
    fake_called(engine);
    return handle->launch(handle->stream, &fake_conv_kernel, args)
               ? fail(TFR_DNN_EXECUTION_FAILED_DRIVER, "launch")
               : TFR_DNN_SUCCESS;
}
