/* SPDX-License-Identifier: Apache-2.0 */
/* made_up.c: see made_up.h. */
#include "made_up.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <tfrun/fail.h>

#include "dims.h"
#include "tensor_file.h"
#include "text.h"

#define MOST_STEPS   16 /* from an input to what it indexes */
#define IMAGE_SIDE   224
#define NO_LIMIT     INT64_MAX
#define MOST_INTEGER (1 << 24) /* up to which a float has all integers */

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The shape that --shape gives to input i; false if it gives none. */
static tfr_status given_shape(const cli_args *args, const tfr_graph *graph, uint32_t i,
                              tfr_shape *out, bool *given, tfr_err *err)
{
    *given = false;
    for (uint32_t k = 0; k < args->shapes.n; k++) {
        const char *rest;
        uint32_t number;
        tfr_status status =
            cli_model_split(graph, false, args->shapes.items[k], &number, &rest, err);
        if (!status && number == i) {
            *given = true;
            status = cli_parse_dims("shape", cli_model_input_name(graph, i), rest, out, err);
        }
        if (status)
            return status;
    }
    return TFR_OK;
}

/* Height or width of an image in either layout. */
static bool is_side(const tfr_value_type *type, int32_t k)
{
    const bool first = type->rank == 4 && (type->dims[1] == 1 || type->dims[1] == 3);
    const bool last = type->rank == 4 && type->dims[3] == 3;
    return (first && k >= 2) || (!first && last && (k == 1 || k == 2));
}

static int64_t open_dim(const cli_args *args, const tfr_graph *graph, const tfr_value_type *type,
                        int32_t k)
{
    const char *name = tfr_graph_symbol_name(graph, type->dims[k]);
    int64_t dim = k == 0 && args->batch > 0 ? args->batch : 0;
    if (!dim && name)
        dim = cli_dims_usual(args, name);
    if (!dim && is_side(type, k))
        dim = IMAGE_SIDE;
    return dim ? dim : 1;
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Ops whose output has elements of their input, and of nothing else that counts. */
static bool passes_on(const char *op, uint32_t input)
{
    static const char *const first[] = {"Cast",    "Identity", "Reshape",   "Squeeze", "Unsqueeze",
                                        "Flatten", "Expand",   "Transpose", "Slice",   "Tile"};
    if (strcmp(op, "Concat") == 0 || strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0)
        return true;
    for (size_t i = 0; input == 0 && i < sizeof first / sizeof *first; i++)
        if (strcmp(op, first[i]) == 0)
            return true;
    return false;
}

/* How many indices a node has room for that takes value number `input` as an index. */
static int64_t indexed_by(const tfr_graph *graph, const tfr_graph_types *types,
                          const tfr_node_view *node, uint32_t input)
{
    tfr_value_type data = {.size = sizeof data};
    const tfr_attr *axis_attr = tfr_node_attr(node, "axis");
    int64_t axis = axis_attr && axis_attr->ints ? axis_attr->ints[0] : 0;
    if (input != 1 || (strcmp(node->op, "Gather") != 0 && strcmp(node->op, "GatherElements") != 0))
        return NO_LIMIT;
    if (tfr_graph_types_get(types, graph, node->inputs[0], &data, NULL) || !data.rank_known)
        return NO_LIMIT;
    axis += axis < 0 ? data.rank : 0;
    return axis >= 0 && axis < data.rank && data.dims[axis] > 0 ? data.dims[axis] : NO_LIMIT;
}

/* The least size of all that is indexed by elements of the value. */
static int64_t limit_of(const tfr_graph *graph, const tfr_graph_types *types, tfr_value value,
                        int steps)
{
    tfr_node_view node = {.size = sizeof node};
    int64_t limit = NO_LIMIT;
    for (uint32_t i = 0; !tfr_graph_node(graph, i, &node, NULL); i++)
        for (uint32_t k = 0; k < node.n_inputs; k++) {
            int64_t here = NO_LIMIT;
            if (node.inputs[k] != value)
                continue;
            if (!passes_on(node.op, k))
                here = indexed_by(graph, types, &node, k);
            else if (steps && node.n_outputs)
                here = limit_of(graph, types, node.outputs[0], steps - 1);
            limit = here < limit ? here : limit;
        }
    return limit;
}

/* For a vector of lengths: how long the made-up sequences are, 0 = there are none. */
static int64_t sequence_length(const cli_args *args, const tfr_graph *graph)
{
    for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++) {
        const tfr_value_type *type = tfr_graph_value_type(graph, tfr_graph_input(graph, i));
        for (int32_t k = 1; type->rank_known && k < type->rank; k++) {
            const char *name = tfr_graph_symbol_name(graph, type->dims[k]);
            if (name && cli_dims_is_sequence(name))
                return cli_dims_usual(args, name);
        }
    }
    return 0;
}

/* Integers of [least, least + n). */
typedef struct range {
    int64_t least, n;
} range;

static range range_of(const cli_args *args, const cli_model *model, uint32_t i, int32_t rank)
{
    const char *name = cli_model_input_name(model->graph, i);
    tfr_graph_types *types;
    int64_t limit, length;
    if (strcasestr(name, "mask"))
        return (range){1, 1};
    length = rank <= 1 && strcasestr(name, "len") ? sequence_length(args, model->graph) : 0;
    if (length)
        return (range){length, 1};
    if (tfr_graph_infer(model->graph, &types, NULL)) /* the session will say what is wrong */
        return (range){0, 2};
    limit = limit_of(model->graph, types, tfr_graph_input(model->graph, i), MOST_STEPS);
    tfr_graph_types_release(types);
    if (limit == NO_LIMIT)
        return (range){0, 2};
    return (range){0, limit < MOST_INTEGER ? limit : MOST_INTEGER};
}

/* The range that the type holds, too. */
static range within(range r, tfr_dtype dtype)
{
    const int64_t most = dtype == TFR_DTYPE_BOOL                            ? 2
                         : dtype == TFR_DTYPE_I8 || dtype == TFR_DTYPE_U8   ? 128
                         : dtype == TFR_DTYPE_I16 || dtype == TFR_DTYPE_U16 ? 1 << 15
                         : dtype == TFR_DTYPE_I32 || dtype == TFR_DTYPE_U32 ||
                                 dtype == TFR_DTYPE_I64 || dtype == TFR_DTYPE_U64
                             ? MOST_INTEGER
                             : 2;
    if (r.least >= most)
        r.least = most - 1;
    if (r.n > most - r.least)
        r.n = most - r.least;
    return r;
}

/* ---- either ---------------------------------------------------------------------------------- */

tfr_status cli_make_up(const cli_args *args, const cli_model *model, uint32_t i, tfr_tensor **out,
                       tfr_err *err)
{
    const char *name = cli_model_input_name(model->graph, i);
    const tfr_value_type *type =
        tfr_graph_value_type(model->graph, tfr_graph_input(model->graph, i));
    const tfr_dtype dtype = (tfr_dtype)type->dtype;
    /* A stream of its own for each input, so that giving one does not change the others. */
    const uint64_t seed = args->seed < 0 ? 0 : (uint64_t)args->seed;
    const uint64_t stream = (seed << 16) + 0x5851F42D4C957F2Du * (i + 1);
    int64_t dims[TFR_MAX_RANK];
    tfr_shape shape;
    range r = {0, 2};
    bool given;
    char text[200];
    tfr_status status = given_shape(args, model->graph, i, &shape, &given, err);
    if (status)
        return status;
    if (type->kind > TFR_KIND_TENSOR || !type->dtype)
        return tfr_fail(err, TFR_EINVAL,
                        "input \"%s\" is %s, which is not made up; give --input %s=FILE", name,
                        cli_format_type(type, text, sizeof text), name);
    if (!given && !type->rank_known)
        return tfr_fail(err, TFR_ESHAPE,
                        "the model leaves the shape of input \"%s\" open; give --shape %s=DIMS",
                        name, name);
    for (int32_t k = 0; !given && k < type->rank; k++)
        dims[k] = type->dims[k] >= 0 ? type->dims[k] : open_dim(args, model->graph, type, k);
    if (!given)
        status = tfr_shape_make(type->rank, dims, &shape, err);
    if (status)
        return status;
    if (dtype == TFR_DTYPE_BOOL || tfr_dtype_is_integer(dtype))
        r = within(range_of(args, model, i, shape.rank), dtype);
    return cli_tensor_random(dtype, &shape, stream, r.least, r.n, out, err);
}
