/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture of streams by the driver stand-in, with the codes that CUDA has for what it refuses. What
 * is refused while a stream is captured breaks the capture, as CUDA does: all that follows is 901,
 * until the capture is ended, which gives 901 and no graph.
 */
#include <stdlib.h>

#include "driver.h"

tfr_cu_result fake_capture_break(fake_capture *capture, tfr_cu_result result)
{
    if (capture->invalid && result != TFR_CU_CAPTURED_EVENT)
        return TFR_CU_CAPTURE_INVALIDATED;
    capture->invalid = true;
    return result;
}

/*
 * A call is unsafe that may wait for the device or for all of its streams. A thread with the
 * default mode must not make one while any thread captures in that mode, or while it captures
 * itself; one that has exchanged its mode for thread-local only the latter.
 */
tfr_cu_result fake_capture_unsafe(void)
{
    const unsigned mode = fake_self.capture_mode;
    if (mode == TFR_CU_CAPTURE_RELAXED)
        return TFR_CU_SUCCESS;
    tfr_cu_result result = TFR_CU_SUCCESS;
    for (fake_capture *c = fake.captures; c; c = c->next) {
        bool own = pthread_equal(c->thread, pthread_self()) && c->mode != TFR_CU_CAPTURE_RELAXED;
        bool any = mode == TFR_CU_CAPTURE_GLOBAL && c->mode == TFR_CU_CAPTURE_GLOBAL;
        if (c->over || (!own && !any))
            continue;
        c->invalid = true;
        result = TFR_CU_CAPTURE_UNSUPPORTED;
    }
    return result;
}

fake_capture *fake_capture_of_blocking(const tfr_cu_context *ctx)
{
    for (tfr_cu_stream *s = fake.streams; s; s = s->next)
        if (s->ctx == ctx && s->capture && !(s->flags & TFR_CU_STREAM_NON_BLOCKING))
            return s->capture;
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * What is done with a captured stream.
 */
static bool unite(fake_deps *deps, const fake_deps *more)
{
    for (unsigned i = 0; i < more->n; i++) {
        unsigned k = 0;
        while (k < deps->n && deps->at[k] != more->at[i])
            k++;
        if (k < deps->n)
            continue;
        if (deps->n == MAX_DEPS)
            return false;
        deps->at[deps->n++] = more->at[i];
    }
    return true;
}

tfr_cu_result fake_capture_add(tfr_cu_stream *s, const fake_op *op)
{
    fake_capture *capture = s->capture;
    if (capture->invalid) {
        fake_op own = *op;
        fake_op_finish(&own);
        return TFR_CU_CAPTURE_INVALIDATED;
    }
    size_t node = fake_graph_add(capture->graph, op, &s->deps);
    s->deps = (fake_deps){{node}, 1};
    return TFR_CU_SUCCESS;
}

tfr_cu_result fake_capture_record(tfr_cu_event *event, tfr_cu_stream *s)
{
    if (s->capture->invalid)
        return TFR_CU_CAPTURE_INVALIDATED;
    event->capture = s->capture;
    event->deps = s->deps;
    event->stream = NULL;
    return TFR_CU_SUCCESS;
}

tfr_cu_result fake_capture_wait(tfr_cu_stream *s, tfr_cu_event *event)
{
    fake_capture *ours = s->capture;
    fake_capture *theirs = event->capture;
    if (ours && ours->invalid)
        return TFR_CU_CAPTURE_INVALIDATED;
    if (!theirs && !event->stream)
        return TFR_CU_SUCCESS;
    if (!theirs || (theirs->over && ours))
        return fake_capture_break(ours, TFR_CU_CAPTURE_ISOLATION);
    if (theirs->over)
        return TFR_CU_CAPTURED_EVENT;
    if (theirs->invalid)
        return TFR_CU_CAPTURE_INVALIDATED;
    if (ours && ours != theirs) {
        theirs->invalid = true;
        return fake_capture_break(ours, TFR_CU_CAPTURE_MERGE);
    }
    if (s == s->ctx->legacy)
        return fake_capture_break(theirs, TFR_CU_CAPTURE_IMPLICIT);
    s->capture = theirs;
    if (!unite(&s->deps, &event->deps))
        return fake_capture_break(theirs, TFR_CU_UNKNOWN);
    return TFR_CU_SUCCESS;
}

/* ------------------------------------------------------------------------------------------
 * Beginning and end.
 */
tfr_cu_result API(cuStreamBeginCapture_v2)(tfr_cu_stream *stream, unsigned mode)
{
    BEGIN(cuStreamBeginCapture_v2, NEEDS_CONTEXT);
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    fake_note("stream %d", s->id);
    if (s == s->ctx->legacy)
        END(TFR_CU_CAPTURE_UNSUPPORTED);
    if (mode > TFR_CU_CAPTURE_RELAXED)
        END(TFR_CU_INVALID_VALUE);
    if (s->capture)
        END(TFR_CU_ILLEGAL_STATE);
    fake_capture *capture = calloc(1, sizeof *capture);
    tfr_cu_graph *graph = fake_graph_create();
    if (!capture || !graph) {
        free(capture);
        END(TFR_CU_OUT_OF_MEMORY);
    }
    *capture = (fake_capture){
        .next = fake.captures, .origin = s, .thread = pthread_self(), .mode = mode, .graph = graph};
    fake.captures = capture;
    s->capture = capture;
    s->deps.n = 0;
    END(TFR_CU_SUCCESS);
}

/* All that was captured in the other streams comes before the end of the first. */
static bool is_joined(const fake_capture *capture)
{
    const fake_deps *ends = &capture->origin->deps;
    for (tfr_cu_stream *s = fake.streams; s; s = s->next) {
        for (unsigned i = 0; s->capture == capture && i < s->deps.n; i++) {
            unsigned k = 0;
            while (k < ends->n && !fake_graph_reaches(capture->graph, s->deps.at[i], ends->at[k]))
                k++;
            if (k == ends->n)
                return false;
        }
    }
    return true;
}

/* What events of captures that are over belong to. */
static fake_capture past = {.over = true};

/* Its graph belongs to the caller, if it was captured to the end. */
void fake_capture_end(fake_capture *capture)
{
    for (tfr_cu_stream *s = fake.streams; s; s = s->next)
        if (s->capture == capture) {
            s->capture = NULL;
            s->deps.n = 0;
        }
    for (tfr_cu_event *e = fake.events; e; e = e->next)
        if (e->capture == capture)
            e->capture = &past;
    for (fake_capture **at = &fake.captures; *at; at = &(*at)->next)
        if (*at == capture) {
            *at = capture->next;
            break;
        }
    if (!capture->graph->captured)
        fake_graph_release(capture->graph);
    free(capture);
}

tfr_cu_result API(cuStreamEndCapture)(tfr_cu_stream *stream, tfr_cu_graph **graph)
{
    BEGIN(cuStreamEndCapture, NEEDS_CONTEXT);
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    fake_note("stream %d", s->id);
    fake_capture *capture = s->capture;
    if (!capture || !graph)
        END(capture ? TFR_CU_INVALID_VALUE : TFR_CU_ILLEGAL_STATE);
    if (capture->origin != s)
        END(TFR_CU_CAPTURE_UNMATCHED);
    if (capture->mode != TFR_CU_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        END(TFR_CU_CAPTURE_WRONG_THREAD);
    tfr_cu_result result = capture->invalid      ? TFR_CU_CAPTURE_INVALIDATED
                           : !is_joined(capture) ? TFR_CU_CAPTURE_UNJOINED
                                                 : TFR_CU_SUCCESS;
    *graph = result ? NULL : capture->graph;
    capture->graph->captured = !result;
    fake_capture_end(capture);
    END(result);
}

tfr_cu_result API(cuStreamIsCapturing)(tfr_cu_stream *stream, unsigned *status)
{
    BEGIN(cuStreamIsCapturing, NEEDS_CONTEXT);
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    if (s == s->ctx->legacy && fake_capture_of_blocking(s->ctx))
        END(TFR_CU_CAPTURE_IMPLICIT);
    *status = !s->capture           ? TFR_CU_CAPTURE_STATUS_NONE
              : s->capture->invalid ? TFR_CU_CAPTURE_STATUS_INVALIDATED
                                    : TFR_CU_CAPTURE_STATUS_ACTIVE;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuStreamGetCaptureInfo_v3)(tfr_cu_stream *stream, unsigned *status, uint64_t *id,
                                             tfr_cu_graph **graph, tfr_cu_graph_node *const **nodes,
                                             const tfr_cu_edge **edges, size_t *n)
{
    BEGIN(cuStreamGetCaptureInfo_v3, NEEDS_CONTEXT);
    static const tfr_cu_edge whole[MAX_DEPS];
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    if (!status || id || graph)
        END(TFR_CU_INVALID_VALUE); /* what nobody asks for is not done here */
    *status = !s->capture           ? TFR_CU_CAPTURE_STATUS_NONE
              : s->capture->invalid ? TFR_CU_CAPTURE_STATUS_INVALIDATED
                                    : TFR_CU_CAPTURE_STATUS_ACTIVE;
    if (*status != TFR_CU_CAPTURE_STATUS_ACTIVE)
        END(TFR_CU_SUCCESS);
    for (unsigned i = 0; i < s->deps.n; i++)
        s->shown[i] = s->capture->graph->nodes[s->deps.at[i]];
    if (nodes)
        *nodes = s->shown;
    if (edges)
        *edges = whole;
    if (n)
        *n = s->deps.n;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuStreamUpdateCaptureDependencies_v2)(tfr_cu_stream *stream,
                                                        tfr_cu_graph_node **nodes,
                                                        const tfr_cu_edge *edges, size_t n,
                                                        unsigned flags)
{
    BEGIN(cuStreamUpdateCaptureDependencies_v2, NEEDS_CONTEXT);
    tfr_cu_stream *s = fake_stream(stream);
    fake_deps deps;
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    if (!s->capture)
        END(TFR_CU_ILLEGAL_STATE);
    if (s->capture->invalid)
        END(TFR_CU_CAPTURE_INVALIDATED);
    if (edges || flags != TFR_CU_SET_CAPTURE_DEPENDENCIES || (n && !nodes) ||
        !fake_graph_find(s->capture->graph, nodes, n, &deps))
        END(TFR_CU_INVALID_VALUE);
    s->deps = deps;
    fake_note("stream %d, %zu nodes", s->id, n);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuThreadExchangeStreamCaptureMode)(unsigned *mode)
{
    BEGIN(cuThreadExchangeStreamCaptureMode, NEEDS_INIT);
    if (!mode || *mode > TFR_CU_CAPTURE_RELAXED)
        END(TFR_CU_INVALID_VALUE);
    unsigned before = fake_self.capture_mode;
    fake_self.capture_mode = *mode;
    *mode = before;
    END(TFR_CU_SUCCESS);
}
