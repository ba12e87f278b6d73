/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oneDNN backend opens its library when the first kernel needs it and not before: loading it
 * takes longer than a small product. Each case needs a process that has not opened it yet.
 */
#include "graph_text.h"

#include <link.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IS_OPEN = 10, IS_NOT_OPEN, NO_BACKEND, FAILED };

static int note_library(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    if (strstr(info->dlpi_name, "/libdnnl.so"))
        *(bool *)user = true;
    return 0;
}

/* Runs the graph on the backend and says what became of the library. */
static int look(const char *text)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_graph *graph = graph_of_text(text);
    tfr_value_type type = *tfr_graph_value_type(graph, tfr_graph_input(graph, 0));
    tfr_shape shape = {type.rank, {0}};
    tfr_tensor *in, *out = NULL;
    tfr_err err = TFR_ERR_INIT;
    bool is_open = false;
    tfr_status status;
    memcpy(shape.dims, type.dims, sizeof shape.dims);
    in = random_floats(&shape, 5, -1, 1);
    options.device = "onednn:0";
    if (tfr_runtime_create(NULL, &runtime, &err))
        return FAILED;
    status = tfr_session_create(runtime, graph, &options, &session, &err);
    if (status)
        return status == TFR_ENOTFOUND ? NO_BACKEND : FAILED;
    if (tfr_session_run(session, &in, 1, &out, 1, &err))
        return FAILED;
    dl_iterate_phdr(note_library, &is_open);
    return is_open ? IS_OPEN : IS_NOT_OPEN;
}

static void check(int expected, const char *text)
{
    int status = 0;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(look(text));
    REQUIRE_INT(child, waitpid(child, &status, 0));
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_BACKEND)
        SKIP("there is no oneDNN backend");
    CHECK_INT(expected, WEXITSTATUS(status));
}

TEST(a_product_opens_no_library)
{
    check(IS_NOT_OPEN, "in x 60 70; const w 70 80; out MatMul(x,w)");
    check(IS_NOT_OPEN, "in x 60 70; const w 70 80; const b 80; out Gemm(x,w,b)");
}

TEST(a_primitive_opens_the_library)
{
    check(IS_OPEN, "in x 60 70; out LRN{size=3}(Reshape(x,[1,6,10,70]))");
}

static const test_case cases[] = {
    CASE(a_product_opens_no_library),
    CASE(a_primitive_opens_the_library),
};
TEST_MAIN(cases)
