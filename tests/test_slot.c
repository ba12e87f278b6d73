/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which plugin a thread is in (tfrun/slot.h), and that a plugin's call leaves the floating-point
 * mode as it was. The slots of naive are replaced in this process.
 */
#include <fenv.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph_text.h"
#include "base/port/pool.h"
#include "device/runtime.h"
#include "session_kit.h"
#include "device/slot.h"

/* ---- a session whose kernels do what a test wants -------------------------------------------- */

typedef struct scene {
    tfr_runtime *runtime;
    tfr_session *session;
    tfr_tensor *in, *out;
} scene;

static tfr_kernel_facet real;
static void (*in_prepare)(void), (*in_launch)(void); /* NULL = nothing */
static char talk[4096];

static int32_t prepare(tfr_plugin_device *device, const tfr_call *call,
                       const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
                       tfr_err *e)
{
    if (in_prepare)
        in_prepare();
    return real.prepare(device, call, options, out, info, e);
}

static int32_t launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                      const tfr_launch *how, tfr_err *e)
{
    if (in_launch)
        in_launch();
    return real.launch(device, queue, kernel, how, e);
}

static void hear(void *user, tfr_log_level level, const char *who, const char *text)
{
    size_t used = strlen(talk);
    (void)user, (void)level;
    snprintf(talk + used, sizeof talk - used, "%s: %s\n", who, text);
}

static scene begin(void (*at_prepare)(void), void (*at_launch)(void), bool checks)
{
    const tfr_option option = {"check-launches", "1"};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_session_options how = TFR_SESSION_OPTIONS_INIT;
    tfr_graph *graph = graph_of_text("in x 2 3; out Relu(x)");
    scene s = {.in = floats(2, two_by_three, six)};
    tfr__backend *backend;
    uint32_t device;
    int32_t k;
    talk[0] = 0;
    options.options = &option;
    options.n_options = checks;
    options.log = hear;
    REQUIRE_OK(tfr_runtime_create(&options, &s.runtime, &err), &err);
    REQUIRE_OK(tfr_runtime_find(s.runtime, "naive:0", &device, &k, &err), &err);
    backend = &s.runtime->devices[device].backends[k];
    REQUIRE_OK(tfr__backend_open(s.runtime, backend, &err), &err);
    real = backend->kernel;
    backend->kernel.prepare = prepare;
    backend->kernel.launch = launch;
    in_prepare = at_prepare;
    in_launch = at_launch;
    how.device = "naive:0";
    REQUIRE_OK(tfr_session_create(s.runtime, graph, &how, &s.session, &err), &err);
    tfr_graph_release(graph);
    return s;
}

static void run(scene *s)
{
    tfr_tensor_release(s->out);
    s->out = NULL;
    REQUIRE_OK(tfr_session_run(s->session, &s->in, 1, &s->out, 1, &err), &err);
}

static void end(scene *s)
{
    tfr_tensor_release(s->in);
    tfr_tensor_release(s->out);
    tfr_session_destroy(s->session);
    tfr_runtime_release(s->runtime);
}

/* ---- who is where ---------------------------------------------------------------------------- */

static tfr_slot_call seen_prepare, seen_launch;
static bool is_seen;

static void look_at_prepare(void)
{
    seen_prepare = (tfr_slot_call)TFR_SLOT_CALL_INIT;
    is_seen = tfr_slot_current(&seen_prepare);
}

static void look_at_launch(void)
{
    seen_launch = (tfr_slot_call)TFR_SLOT_CALL_INIT;
    is_seen = is_seen && tfr_slot_current(&seen_launch);
}

TEST(a_call_is_known_while_it_lasts_and_no_longer)
{
    scene s = begin(look_at_prepare, look_at_launch, false);
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    char text[64];
    uint32_t at = 0;
    run(&s);
    CHECK(is_seen);
    CHECK_STR("naive", seen_prepare.plugin);
    CHECK_STR("prepare of node \"Relu_0\" (Relu)", tfr_slot_format(&seen_prepare, text, 64));
    CHECK_STR("naive", seen_launch.plugin);
    CHECK_STR("launch of node \"Relu_0\" (Relu)", tfr_slot_format(&seen_launch, text, 64));
    CHECK_UINT(0, seen_launch.flags);
    CHECK(!tfr_slot_current(&call));
    CHECK(!tfr_slot_next(&at, &call));
    end(&s);
}

TEST(each_call_has_a_number_of_its_own)
{
    scene s = begin(look_at_prepare, look_at_launch, false);
    uint64_t first;
    run(&s);
    first = seen_launch.call;
    CHECK(first != seen_prepare.call);
    run(&s);
    CHECK(first != seen_launch.call);
    end(&s);
}

TEST(a_text_is_cut_to_its_room)
{
    tfr_slot_call call = {.slot = "prepare", .node = "conv1", .op = "Conv"};
    char text[16];
    CHECK_STR("prepare of node", tfr_slot_format(&call, text, sizeof text));
    CHECK_STR("", tfr_slot_format(&call, text, 1));
    call.op[0] = 0;
    CHECK_CONTAINS("the program from node \"conv1\"", tfr_slot_format(&call, (char[64]){0}, 64));
}

TEST(names_of_a_call_fill_their_room_and_hold_no_control_character)
{
    char name[300];
    tfr__where where = {.plugin = "acme", .slot = "launch", .node = name, .op = "a\nb\177c\x80"};
    tfr__thread *thread = tfr__thread_self();
    const tfr__where *was = tfr__thread_where(thread);
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    tfr__thread_enter(thread, &where);
    CHECK(tfr_slot_current(&call));
    CHECK_UINT(sizeof call.node - 1, strlen(call.node));
    CHECK_STR("a?b?c\x80", call.op);
    name[sizeof call.node - 1] = 0;
    CHECK(tfr_slot_current(&call));
    CHECK_STR(name, call.node);
    tfr__thread_leave(thread, was);
    tfr__threads_settle();
}

/* ---- threads --------------------------------------------------------------------------------- */

static pthread_barrier_t both;

static void meet_twice(void)
{
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
}

static void *run_scene(void *user)
{
    run(user);
    return NULL;
}

TEST(another_thread_sees_what_is_waited_for)
{
    scene s = begin(NULL, meet_twice, false);
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    pthread_t thread;
    uint32_t at = 0;
    pthread_barrier_init(&both, NULL, 2);
    REQUIRE_INT(0, pthread_create(&thread, NULL, run_scene, &s));
    pthread_barrier_wait(&both);
    CHECK(!tfr_slot_current(&call));
    REQUIRE(tfr_slot_next(&at, &call));
    CHECK_STR("naive", call.plugin);
    CHECK_STR("launch", call.slot);
    CHECK_STR("Relu_0", call.node);
    CHECK(!tfr_slot_next(&at, &call));
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&both);
    end(&s);
}

static tfr__pool *pool;
static tfr_slot_call helped;

static void look_in_loop(void *user, int64_t from, int64_t to)
{
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    bool known = tfr_slot_current(&call);
    (void)user, (void)from, (void)to;
    pthread_barrier_wait(&both); /* one range for each of the two threads */
    if (known && (call.flags & TFR_SLOT_HELPS))
        helped = call;
}

static void loop_and_look(void)
{
    tfr__pool_run(pool, 0, look_in_loop, NULL, 2, 1);
}

TEST(a_thread_of_the_pool_is_in_the_call_that_it_helps)
{
    scene s = begin(NULL, loop_and_look, false);
    helped = (tfr_slot_call)TFR_SLOT_CALL_INIT;
    pool = tfr__pool_create(2);
    REQUIRE(pool != NULL);
    pthread_barrier_init(&both, NULL, 2);
    run(&s);
    CHECK_STR("naive", helped.plugin);
    CHECK_STR("launch", helped.slot);
    CHECK_STR("Relu_0", helped.node);
    pthread_barrier_destroy(&both);
    tfr__pool_destroy(pool);
    end(&s);
}

static void *call_once(void *user)
{
    tfr__visit visit = tfr__slot_enter("acme", "open", NULL, NULL);
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    *(bool *)user = tfr_slot_current(&call);
    tfr__slot_leave(&visit, NULL);
    return NULL;
}

TEST(threads_that_end_leave_room_for_others)
{
    bool known = true;
    for (int i = 0; known && i < 3000; i++) { /* more than there are rows */
        pthread_t thread;
        REQUIRE_INT(0, pthread_create(&thread, NULL, call_once, &known));
        pthread_join(thread, NULL);
    }
    CHECK(known);
}

static int in_child;

static void fork_and_look(void)
{
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    uint32_t at = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(tfr_slot_next(&at, &call) ? 1 : 0);
    waitpid(pid, &in_child, 0);
}

TEST(a_child_of_fork_does_not_know_the_other_threads_calls)
{
    scene s = begin(NULL, meet_twice, false);
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    REQUIRE_INT(0, pthread_create(&thread, NULL, run_scene, &s));
    pthread_barrier_wait(&both);
    fork_and_look();
    CHECK_INT(0, in_child);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&both);
    end(&s);
}

/* ---- the floating-point mode ----------------------------------------------------------------- */

static void round_up(void)
{
    fesetround(FE_UPWARD);
}

static void round_up_in_range(void *user, int64_t from, int64_t to)
{
    (void)user, (void)from, (void)to;
    fesetround(FE_UPWARD);
    pthread_barrier_wait(&both);
}

static void loop_rounding_up(void)
{
    tfr__pool_run(pool, 0, round_up_in_range, NULL, 2, 1);
}

static int modes[2];

static void note_mode(void *user, int64_t from, int64_t to)
{
    (void)user, (void)to;
    modes[from] = fegetround();
    pthread_barrier_wait(&both);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

TEST(a_mode_changed_by_prepare_is_set_back_and_told_of_once)
{
    scene s = begin(round_up, NULL, false);
    tfr_plugin_desc row = {.size = sizeof row};
    run(&s);
    CHECK_INT(FE_TONEAREST, fegetround());
    CHECK_CONTAINS("naive: changed the rounding mode in prepare of node \"Relu_0\" (Relu)", talk);
    end(&s);
    CHECK_INT(1, count(talk, "changed the rounding mode"));
}

TEST(a_mode_changed_by_a_launch_is_set_back_and_the_next_run_finds_out_whose_it_was)
{
    scene s = begin(NULL, round_up, false);
    run(&s);
    CHECK_INT(FE_TONEAREST, fegetround());
    CHECK_CONTAINS("floating-point: a kernel changed the rounding mode", talk);
    CHECK_INT(0, count(talk, "naive: "));
    run(&s);
    CHECK_INT(FE_TONEAREST, fegetround());
    CHECK_CONTAINS("naive: changed the rounding mode in launch of node \"Relu_0\" (Relu)", talk);
    run(&s);
    CHECK_INT(1, count(talk, "naive: changed"));
    CHECK_INT(1, count(talk, "floating-point: "));
    end(&s);
}

#if defined(__x86_64__)
static uint64_t changed_bits;

static void change_bits(void)
{
    tfr__fp_set(tfr__fp_mode() | changed_bits);
}

TEST(each_way_to_round_or_to_flush_is_seen_and_set_back)
{
    static const struct {
        uint64_t bits;
        const char *what;
    } ways[] = {{0x2000, "rounding"},
                {0x4000, "rounding"},
                {0x6000, "rounding"},
                {0x8000, "flushing"},
                {0x40, "flushing"}};
    const uint64_t before = tfr__fp_mode();
    for (int i = 0; i < 5; i++) {
        scene s = begin(NULL, NULL, false);
        run(&s);
        CHECK_STR("", talk);
        changed_bits = ways[i].bits;
        in_launch = change_bits;
        run(&s);
        CHECK(tfr__fp_mode() == before);
        CHECK_CONTAINS("floating-point: a kernel changed the", talk);
        CHECK_CONTAINS(ways[i].what, talk);
        end(&s);
    }
}

TEST(a_run_in_the_usual_mode_makes_no_subnormal_number_that_would_trap)
{
    const uint64_t before = tfr__fp_mode(), traps = before & ~UINT64_C(0x900);
    scene s = begin(NULL, NULL, false);
    tfr__fp_set(traps); /* on operands that are subnormal, and on underflow */
    run(&s);            /* plans, which looks at the mode */
    run(&s);
    CHECK(tfr__fp_mode() == traps);
    tfr__fp_set(before);
    CHECK_STR("", talk);
    end(&s);
}
#endif

TEST(a_checked_launch_names_the_plugin_at_once)
{
    scene s = begin(NULL, round_up, true);
    uint32_t n = tfr_runtime_n_plugins(s.runtime), i;
    tfr_plugin_desc row = {.size = sizeof row};
    run(&s);
    CHECK_CONTAINS("naive: changed the rounding mode in launch of node \"Relu_0\"", talk);
    CHECK_INT(0, count(talk, "floating-point: "));
    for (i = 0; i < n; i++) {
        REQUIRE_OK(tfr_runtime_plugin(s.runtime, i, &row, &err), &err);
        if (strcmp(row.name, "naive") == 0)
            break;
    }
    CHECK_CONTAINS("changed the rounding mode in launch", row.reason);
    end(&s);
}

TEST(a_mode_changed_on_threads_of_the_pool_is_set_back_there)
{
    scene s = begin(NULL, loop_rounding_up, true);
    pool = tfr__pool_create(2);
    REQUIRE(pool != NULL);
    pthread_barrier_init(&both, NULL, 2);
    run(&s);
    CHECK_CONTAINS("naive: changed the rounding mode in launch", talk);
    modes[0] = modes[1] = -1;
    tfr__pool_run(pool, 0, note_mode, NULL, 2, 1);
    CHECK_INT(FE_TONEAREST, modes[0]);
    CHECK_INT(FE_TONEAREST, modes[1]);
    pthread_barrier_destroy(&both);
    tfr__pool_destroy(pool);
    end(&s);
}

TEST(the_mode_of_the_program_itself_stays)
{
    scene s = begin(NULL, NULL, true);
    fesetround(FE_DOWNWARD);
    run(&s);
    CHECK_INT(FE_DOWNWARD, fegetround());
    fesetround(FE_TONEAREST);
    CHECK_STR("", talk);
    end(&s);
}

static const test_case cases[] = {
    CASE(a_call_is_known_while_it_lasts_and_no_longer),
    CASE(each_call_has_a_number_of_its_own),
    CASE(a_text_is_cut_to_its_room),
    CASE(names_of_a_call_fill_their_room_and_hold_no_control_character),
    CASE(another_thread_sees_what_is_waited_for),
    CASE(a_thread_of_the_pool_is_in_the_call_that_it_helps),
    CASE(threads_that_end_leave_room_for_others),
    CASE(a_child_of_fork_does_not_know_the_other_threads_calls),
    CASE(a_mode_changed_by_prepare_is_set_back_and_told_of_once),
    CASE(a_mode_changed_by_a_launch_is_set_back_and_the_next_run_finds_out_whose_it_was),
#if defined(__x86_64__)
    CASE(each_way_to_round_or_to_flush_is_seen_and_set_back),
    CASE(a_run_in_the_usual_mode_makes_no_subnormal_number_that_would_trap),
#endif
    CASE(a_checked_launch_names_the_plugin_at_once),
    CASE(a_mode_changed_on_threads_of_the_pool_is_set_back_there),
    CASE(the_mode_of_the_program_itself_stays),
};
TEST_MAIN(cases)
