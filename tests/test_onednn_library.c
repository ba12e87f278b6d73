/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oneDNN backend opens its library when the first kernel needs it and not before: loading it
 * takes longer than a small product. What it is held to then decides what it may be asked. Each
 * case needs a process that has not opened it yet.
 */
#include "graph_text.h"

#include <dlfcn.h>
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

/* Runs the graph on a device, or elsewhere what the device declines. */
static tfr_status run_on(const char *device, tfr_graph *graph, tfr_tensor *in, tfr_tensor **out)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    options.device = device;
    status = tfr_runtime_create(NULL, &runtime, &err);
    if (!status)
        status = tfr_session_create(runtime, graph, &options, &session, &err);
    if (!status)
        status = tfr_session_run(session, &in, 1, out, 1, &err);
    return status;
}

enum { EQUAL = 20, DIFFERENT };

/* Whether products of 8 bits are naive's with these variables of the environment. */
static int multiply_bytes(const char *name, const char *value)
{
    const tfr_shape shape = {2, {4, 64}};
    tfr_graph *graph = graph_of_text(
        "in x 4 64; const w 64 8; out Cast{to=1}(MatMulInteger(Cast{to=3}(Mul(x,127)),"
        "Cast{to=3}(Mul(w,127))))");
    tfr_tensor *in = random_floats(&shape, 5, -1, 1), *want = NULL, *got = NULL;
    tfr_status status;
    setenv(name, value, 1);
    status = run_on("onednn:0", graph, in, &got);
    if (status)
        return status == TFR_ENOTFOUND ? NO_BACKEND : FAILED;
    if (run_on("naive:0", graph, in, &want))
        return FAILED;
    return memcmp(tfr_tensor_data(want), tfr_tensor_data(got), tfr_tensor_bytes(want)) == 0
               ? EQUAL
               : DIFFERENT;
}

/* Runs the graph on a device and says what became of the library. */
static int look(const char *device, const char *text)
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
    options.device = device;
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

static void check_child(int expected, pid_t child)
{
    int status = 0;
    REQUIRE_INT(child, waitpid(child, &status, 0));
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_BACKEND)
        SKIP("there is no oneDNN backend");
    CHECK_INT(expected, WEXITSTATUS(status));
}

static void check(int expected, const char *device, const char *text)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(look(device, text));
    check_child(expected, child);
}

/* A process without the backend opens none, either. */
TEST(what_another_backend_computes_opens_no_library)
{
    check(IS_NOT_OPEN, "CPU:0", "in x 60 70; const w 70 80; out MatMul(x,w)");
    check(IS_NOT_OPEN, "CPU:0", "in x 60 70; const w 70 80; const b 80; out Gemm(x,w,b)");
}

TEST(a_primitive_opens_the_library)
{
    check(IS_OPEN, "onednn:0", "in x 60 70; out LRN{size=3}(Reshape(x,[1,6,10,70]))");
}

/* Whoever opens the library first may hold it below what the processor has. */
static bool hold_library(int isa)
{
#ifdef ONEDNN_SONAME
    void *library = dlopen(ONEDNN_SONAME, RTLD_NOW);
    int (*hold)(int) = NULL, (*get)(void) = NULL;
    if (library) {
        *(void **)&hold = dlsym(library, "dnnl_set_max_cpu_isa");
        *(void **)&get = dlsym(library, "dnnl_get_effective_cpu_isa");
    }
    return hold && get && hold(isa) == 0 && get() == isa; /* the level is fixed once it is read */
#else
    (void)isa;
    return false;
#endif
}

TEST(products_of_bytes_are_exact_in_a_library_that_somebody_holds_back)
{
    static const int sse41 = 0x1, avx2 = 0x7, avx512_core = 0x27; /* as oneDNN counts them */
    const int levels[] = {sse41, avx2, avx512_core};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            _exit(hold_library(levels[i]) ? multiply_bytes("TFRUN_LOG", "error") : EQUAL);
        check_child(EQUAL, child);
    }
}

TEST(products_of_bytes_are_exact_whatever_the_library_is_held_to)
{
    static const char *const held[][2] = {
        {"ONEDNN_MAX_CPU_ISA", "SSE41"},
        {"ONEDNN_MAX_CPU_ISA", "AVX2"},
        {"ONEDNN_MAX_CPU_ISA", "AVX512_CORE"},
        {"ONEDNN_MAX_CPU_ISA", "ALL"},
        {"TFRUN_HIDE_CPU_FEATURES", "avx512f"},
        {"TFRUN_HIDE_CPU_FEATURES", "avx512_vnni"},
        {"TFRUN_HIDE_CPU_FEATURES", "avx512_vnni avx_vnni"},
        {"TFRUN_HIDE_CPU_FEATURES", "avx512f avx2"},
    };
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            _exit(multiply_bytes(held[i][0], held[i][1]));
        check_child(EQUAL, child);
    }
}

static const test_case cases[] = {
    CASE(what_another_backend_computes_opens_no_library),
    CASE(a_primitive_opens_the_library),
    CASE(products_of_bytes_are_exact_in_a_library_that_somebody_holds_back),
    CASE(products_of_bytes_are_exact_whatever_the_library_is_held_to),
};
TEST_MAIN(cases)
