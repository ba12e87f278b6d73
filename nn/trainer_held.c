/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer_held.c: steps whose samples the device holds (train_held.c has their graph).
 */
#include <string.h>
#include <tfrun/fail.h>

#include "data/dataset.h"
#include "trainer.h"

tfr_status tfr_trainer_hold(tfr_trainer *t, tfr_dataset *dataset, tfr_err *err)
{
    tfr_graph *before = t->held_graph, *held = NULL;
    tfr_session *step = NULL;
    tfr_status status = TFR_OK;
    if (!dataset && !before)
        return TFR_OK;
    if (dataset && t->memory_limit)
        return tfr_fail(err, TFR_EUNSUPPORTED, "samples are not held with a limit of memory");
    if (dataset)
        status = tfr__train_held_graph(t->step_graph, dataset, &held, err);
    if (status)
        return status;
    t->held_graph = held;
    status = tfr__trainer_make_step(t, t->recompute, &step, err);
    if (!status)
        status = tfr__trainer_replace_step(t, step, err);
    if (status)
        t->held_graph = before;
    else
        t->at = 0;
    tfr_graph_release(status ? held : before);
    return status;
}

/* Rows for batches of n, and a session that knows which is next. */
static tfr_status ready_rows(tfr_trainer *t, int64_t n, tfr_err *err)
{
    const tfr_shape shape = {.rank = 2, .dims = {TFR__HELD_ROWS, n}};
    tfr_status status = TFR_OK;
    int64_t first = 0;
    if (t->at < 0) {
        status = tfr__trainer_write_scalar(t, TFR__HELD_AT, TFR_DTYPE_I64, &first, err);
        if (status)
            return status;
        t->at = 0;
    }
    if (t->rows && tfr_tensor_shape(t->rows)->dims[1] == n)
        return TFR_OK;
    tfr_tensor_release(t->rows);
    t->rows = NULL;
    return tfr_tensor_create(TFR_DTYPE_I64, &shape, &t->rows, err);
}

/* The next steps of one rate: *n of them at most, and after it as many as it were. */
static tfr_status take_rows(tfr_trainer *t, const int64_t *numbers, int64_t batch, uint32_t *n,
                            tfr_err *err)
{
    tfr_status status = ready_rows(t, batch, err);
    int64_t *rows;
    if (!status && t->is_scheduled)
        status = tfr__trainer_follow_schedule(t, err);
    if (status)
        return status;
    *n = tfr__trainer_steps_of_rate(t, *n < TFR__HELD_ROWS ? *n : TFR__HELD_ROWS);
    rows = tfr_tensor_data(t->rows);
    for (uint32_t i = 0; i < *n; i++)
        memcpy(rows + (t->at + i) % TFR__HELD_ROWS * batch, numbers + i * batch,
               (size_t)batch * sizeof *rows);
    status = tfr__trainer_run_steps(t, &t->rows, 1, *n, err);
    t->at = status ? -1 : (t->at + *n) % TFR__HELD_ROWS;
    if (status) { /* work that does not end may still read them */
        tfr_tensor_release(t->rows);
        t->rows = NULL;
    }
    return status;
}

tfr_status tfr_trainer_step_held(tfr_trainer *t, tfr_tensor *samples, tfr_err *err)
{
    const tfr_shape *shape = samples ? tfr_tensor_shape(samples) : NULL;
    tfr_status status = TFR_OK;
    uint32_t n;
    if (!t->held_graph)
        return tfr_fail(err, TFR_EINVAL, "the trainer holds no samples; see tfr_trainer_hold");
    if (!shape || tfr_tensor_dtype(samples) != TFR_DTYPE_I64 || shape->rank < 1 ||
        shape->rank > 2 || !tfr_tensor_is_plain(samples))
        return tfr_fail(err, TFR_EINVAL,
                        "the numbers of samples are a plain tensor of i64, of one dim, or two for "
                        "several steps");
    const int64_t steps = shape->rank == 2 ? shape->dims[0] : 1,
                  batch = shape->dims[shape->rank - 1];
    for (int64_t i = 0; !status && i < steps; i += n) {
        n = steps - i < TFR__HELD_ROWS ? (uint32_t)(steps - i) : TFR__HELD_ROWS;
        status =
            take_rows(t, (const int64_t *)tfr_tensor_data(samples) + i * batch, batch, &n, err);
    }
    return status;
}

/* The device that was asked for, or the first one beside the host. */
static bool find_device(const tfr_trainer *t, tfr_device_desc *out)
{
    uint32_t i = 0;
    int32_t backend;
    tfr_err err = TFR_ERR_INIT;
    *out = (tfr_device_desc){.size = sizeof *out};
    if (t->device)
        return tfr_runtime_find(t->runtime, t->device, &i, &backend, &err) == TFR_OK &&
               tfr_runtime_device(t->runtime, i, out, &err) == TFR_OK;
    while (i < tfr_runtime_n_devices(t->runtime) &&
           tfr_runtime_device(t->runtime, i, out, &err) == TFR_OK && strcmp(out->type, "CPU") == 0)
        i++;
    return i < tfr_runtime_n_devices(t->runtime);
}

uint32_t tfr_trainer_should_hold(const tfr_trainer *t, const tfr_dataset *dataset)
{
    tfr_device_desc device;
    return !t->memory_limit && find_device(t, &device) && strcmp(device.type, "CPU") != 0 &&
           tfr__dataset_bytes(dataset) <= device.memory_total / 4;
}
