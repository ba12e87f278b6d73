/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one op of one input on a named device: run_op DEVICE OP TYPE VALUE...
 *
 *   run_op CPU:0 Relu float32 -1 0 2.5
 *
 * The values become a tensor of one dimension, the result is printed one value a line. If the
 * device does not take the op, it runs elsewhere, and a line on standard error says why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tfrun/op.h>

int main(int argc, char **argv)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    tfr_tensor *doubles = NULL, *x = NULL, *y = NULL, *result = NULL;
    tfr_shape shape = {1, {argc - 4}};
    tfr_node_desc node = {.size = sizeof node, .n_outputs = 1};

    if (argc < 5)
        return fprintf(stderr, "usage: run_op DEVICE OP TYPE VALUE...\n"), 2;
    node.op = argv[2];
    if (tfr_tensor_create(TFR_DTYPE_F64, &shape, &doubles, &err) ||
        tfr_tensor_create(tfr_dtype_parse(argv[3]), &shape, &x, &err))
        goto done;
    for (int64_t i = 0; i < shape.dims[0]; i++)
        ((double *)tfr_tensor_data(doubles))[i] = strtod(argv[4 + i], NULL);
    if (tfr_dtype_convert(tfr_tensor_dtype(x), tfr_tensor_data(x), TFR_DTYPE_F64,
                          tfr_tensor_data(doubles), shape.dims[0], &err) ||
        tfr_runtime_create(NULL, &runtime, &err) ||
        tfr_op_run(runtime, argv[1], &node, &x, 1, &y, 1, &err) ||
        tfr_tensor_create(TFR_DTYPE_F64, tfr_tensor_shape(y), &result, &err) ||
        tfr_dtype_convert(TFR_DTYPE_F64, tfr_tensor_data(result), tfr_tensor_dtype(y),
                          tfr_tensor_data(y), tfr_tensor_elements(y), &err))
        goto done;
    for (int64_t i = 0; i < tfr_tensor_elements(result); i++)
        printf("%g\n", ((const double *)tfr_tensor_data(result))[i]);

done:
    if (err.code)
        fprintf(stderr, "%s\n", err.text);
    tfr_tensor_release(result);
    tfr_tensor_release(y);
    tfr_tensor_release(x);
    tfr_tensor_release(doubles);
    tfr_runtime_release(runtime);
    return err.code ? 1 : 0;
}
