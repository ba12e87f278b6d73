/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h: what all commands of tfrun share: the arguments, a command's row, exit statuses, and how a
 * failure is told. A command is cli/cmd_X.c with one cli_command, and a row in main.c.
 */
#ifndef TFR_CLI_H
#define TFR_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tfrun/tfrun.h>

#define CLI_EXIT_LIST(X)                                                                           \
    X(DONE, 0, "done")                                                                             \
    X(FAILED, 1, "the run failed; certify: a check failed")                                        \
    X(USAGE, 2, "wrong usage")                                                                     \
    X(DEVICE, 3, "the requested device or plugin is not usable")                                   \
    X(FALLBACK, 4, "a fallback was needed under --fallback=error")                                 \
    X(DATA, 5, "the model or the data is not valid")                                               \
    X(MEMORY, 6, "out of memory")                                                                  \
    X(IO, 7, "I/O error")                                                                          \
    X(DIFFERS, 8, "verify: at least one model failed; optimize: the outputs differ")               \
    X(TIMEOUT, 9, "a run took longer than --timeout")                                              \
    X(STOPPED, 75, "train: stopped by a signal, with a checkpoint to resume from")                 \
    X(SKIPPED, 77, "verify: every model was skipped")

enum cli_exit {
#define CLI_EXIT_ENUM(name, number, text) CLI_EXIT_##name = number,
    CLI_EXIT_LIST(CLI_EXIT_ENUM)
#undef CLI_EXIT_ENUM
};

typedef struct cli_list {
    const char **items; /* capacity for every word of the command line */
    uint32_t n;
} cli_list;

/* The most that --threads takes, and more than there are: the library uses those that there are. */
#define CLI_ALL_THREADS 4096

/* NAME.KEY=VALUE, cut at the sign; as many as fit one command line. */
typedef struct cli_settings {
    tfr_option *items;
    uint32_t n;
} cli_settings;

/* Of train. Numbers that were not given are -1, texts NULL. */
typedef struct cli_training {
    const char *data, *model, *loss, *optimizer, *schedule, *freeze;
    const char *loss_scale, *class_weights;
    const char *checkpoints, *export, *log, *plot;
    int64_t epochs, batch, limit, checkpoint_every, keep, log_every, accumulate, shards,
        memory_limit;
    double rate, momentum, beta_1, beta_2, epsilon, decay, clip_value, clip_norm;
    int32_t defaults;  /* 1 + tfr_net_defaults; 0 = not given */
    int32_t resume;    /* tfr_fit_resume */
    int32_t recompute; /* tfr_train_recompute */
    bool augment, no_shuffle;
} cli_training;

/* Of quantize. Choices are 1 + their place; 0 = not given. */
typedef struct cli_quantizing {
    int32_t weights, activations, ranges, io;
    const char *samples_in; /* a folder */
    int64_t block, samples; /* 0 = not given */
    cli_list only, except;  /* patterns for nodes */
    bool asymmetric, dynamic, reduce_range, per_tensor, tables, no_check;
} cli_quantizing;

/* The command line, taken apart. A field that a command has no option for keeps its default. */
typedef struct cli_args {
    const struct cli_command *command;
    char **words; /* what is no option, after the command's name */
    uint32_t n_words;

    /* of every command */
    bool help, json;
    uint32_t verbose, quiet;
    int32_t color;     /* 0 = auto, else the choice's number from 1: auto, always, never */
    int32_t log_level; /* 0 = the command's, else tfr_log_level */
    cli_list plugins, plugin_paths;
    cli_settings plugin_options;
    const char *visible_devices;
    int64_t logical_cpus, threads; /* 0 = not given; CLI_ALL_THREADS for --threads 0 */

    /* of some commands */
    const char *device, *backend, *passes, *math_mode;
    cli_list inputs, outputs, shapes;   /* NAME=FILE, NAME=FILE, NAME=1,3,224,224 */
    cli_list dims;                      /* NAME=4 */
    cli_list loop_states;               /* OUTPUT=INPUT */
    const char *labels;                 /* file with a name of a class a line */
    const char *image_mean, *image_std; /* "0.5" or "0.485,0.456,0.406" */
    int32_t layout;                     /* of images: 0 = what the dims say, 1 nchw, 2 nhwc */
    int64_t top;                        /* 0 = not given */
    int64_t seed;                       /* of random inputs; -1 = none are wanted */
    bool log_placement, deterministic, cast_inputs;
    bool refresh;                /* devices, plugins: ask all plugins anew */
    bool build_info;             /* version: what plugins have loaded, too */
    bool nodes;                  /* inspect: all of them */
    int32_t fallback;            /* tfr_fallback */
    int32_t programs;            /* 0 = not given, 1 on, 2 off */
    int32_t capture;             /* as programs */
    int64_t runs, jobs, timeout; /* 0 = the command's default; timeout in seconds */
    const char *trace;           /* file for a trace of the runs */
    int32_t by;                  /* profile: 1 + op, node, backend; 0 = op */
    double time_limit;           /* seconds that a run may take, 0 = any */
    double rtol, atol;

    /* of optimize */
    cli_list fold_shapes; /* NAME=1,3,224,224 */
    int64_t opset;        /* 0 = not given */
    bool check;
    double check_atol; /* -1 = not given */

    /* of bench */
    const char *peers, *sizes, *batches; /* "onednn,numpy", "500,1024", "1,64" */
    cli_list libraries;                  /* NAME=FILE */
    const char *svg;
    int64_t pairs;                     /* 0 = not given */
    int64_t batch;                     /* what an open first dim of made-up inputs is; 0 = 1 */
    int64_t train_batch, train_epochs; /* of bench train; 0 = not given */
    const char *train_data;
    bool csv, constant;

    /* of certify */
    const char *ops; /* "Relu,Conv" */

    cli_training train;
    cli_quantizing quantize;
} cli_args;

typedef enum cli_option_kind {
    CLI_FLAG,    /* bool */
    CLI_COUNT,   /* uint32_t, how often it is given */
    CLI_TEXT,    /* const char * */
    CLI_LIST,    /* cli_list, may be given several times */
    CLI_SETTING, /* cli_settings, likewise */
    CLI_NUMBER,  /* int64_t in [least, most] */
    CLI_REAL,    /* double in [least, most] */
    CLI_CHOICE,  /* int32_t, 1 + the place of the word in `values` */
    CLI_SWITCH   /* int32_t, the same with 1 more; 1 = without a word, which is "[=...]" in value */
} cli_option_kind;

/* A row of an option table, which makes --help, the parser and the completion. */
typedef struct cli_option {
    char letter;       /* 0 = it has no short form */
    const char *name;  /* without the dashes; NULL ends a table */
    const char *value; /* "FILE"; NULL for a flag */
    cli_option_kind kind;
    size_t field;       /* offset in cli_args */
    const char *values; /* "file", "dir", "device", "backend", "none", or for a choice "a|b|c" */
    double least, most;
    const char *help;
} cli_option;

#define CLI_FIELD(name) offsetof(cli_args, name)

typedef struct cli_command {
    const char *name;
    const char *words; /* "MODEL", for the usage line */
    uint32_t least_words, most_words;
    const char *word_values;          /* as cli_option.values; also "command" and "op" */
    const char *summary;              /* one line, for `tfrun help` */
    const char *text;                 /* paragraphs for --help, at most 80 columns; NULL = none */
    int32_t log_level;                /* what is logged when the user does not choose */
    bool hidden;                      /* not listed: a helper of other programs */
    bool lists_plugins;               /* those that failed before are asked again */
    bool checks;                      /* each launch is checked, as with log debug */
    const cli_option *options;        /* beside the shared ones; NULL = none */
    int (*run)(const cli_args *args); /* returns an exit status */
} cli_command;

/* Rows that several commands have. */
#define CLI_OPTION_DEVICE                                                                          \
    {                                                                                              \
        'd', "device", "NAME", CLI_TEXT, CLI_FIELD(device), "device", 0, 0,                        \
            "preferred device (CPU:0) or one backend of it (naive:0)"                              \
    }
#define CLI_OPTION_BACKEND                                                                         \
    {                                                                                              \
        'b', "backend", "NAME", CLI_TEXT, CLI_FIELD(backend), "backend", 0, 0,                     \
            "use the plugin of this name and no other"                                             \
    }
#define CLI_OPTION_FALLBACK                                                                        \
    {                                                                                              \
        0, "fallback", "POLICY", CLI_CHOICE, CLI_FIELD(fallback), "allow|warn|error", 0, 0,        \
            "allow, warn or error when a node cannot run where it was asked to; default is "       \
            "warn with --device, else allow"                                                       \
    }
#define CLI_OPTION_PASSES                                                                          \
    {                                                                                              \
        0, "passes", "LIST", CLI_TEXT, CLI_FIELD(passes), "all|none", 0, 0,                        \
            "what may change the graph before it is planned: all, none, fold,cse for those, "      \
            "-cse for all but that; explain tells their names"                                     \
    }
#define CLI_OPTION_MATH_MODE                                                                       \
    {                                                                                              \
        0, "math-mode", "MODE", CLI_TEXT, CLI_FIELD(math_mode), "strict|f32x6|f32x3|tf32|bf16", 0, \
            0,                                                                                     \
            "how far products of floats may be off: strict, the default, f32x6 (as exact, by "     \
            "parts), f32x3 (2^-14), tf32 (2^-10) or bf16 (2^-7)"                                   \
    }
#define CLI_OPTION_DETERMINISTIC                                                                   \
    {                                                                                              \
        0, "deterministic", NULL, CLI_FLAG, CLI_FIELD(deterministic), "none", 0, 0,                \
            "the same bits in each run: without kernels that do not promise it"                    \
    }
#define CLI_OPTION_PROGRAMS                                                                        \
    {                                                                                              \
        0, "programs", "WHICH", CLI_CHOICE, CLI_FIELD(programs), "on|off", 0, 0,                   \
            "off: run every node as a kernel of its own, compile nothing; default is on"           \
    }
#define CLI_OPTION_CAPTURE                                                                         \
    {                                                                                              \
        0, "capture", "WHICH", CLI_CHOICE, CLI_FIELD(capture), "on|off", 0, 0,                     \
            "off: launch nodes one by one, also where a device can replay them; default is on"     \
    }
#define CLI_OPTION_INPUT                                                                           \
    {                                                                                              \
        'i', "input", "NAME=FILE", CLI_LIST, CLI_FIELD(inputs), "file", 0, 0,                      \
            "value of an input from a .npy, .npz, .pb, .csv or .txt file or an image; NAME= may "  \
            "go when there is one input, and an .npz file has values of all by their names"        \
    }
#define CLI_OPTION_CAST                                                                            \
    {                                                                                              \
        0, "cast-inputs", NULL, CLI_FLAG, CLI_FIELD(cast_inputs), "none", 0, 0,                    \
            "convert inputs from files that have other element types than the model wants"         \
    }
#define CLI_OPTION_RANDOM                                                                          \
    {                                                                                              \
        0, "random-inputs", "SEED", CLI_NUMBER, CLI_FIELD(seed), "none", 0, 9007199254740992.0,    \
            "fill the other inputs: floats from [0,1), masks 1, integers below what they index, "  \
            "else 0 or 1; open dims are what their names suggest (batch 1, sequence 128), else 1"  \
    }
#define CLI_OPTION_DIM                                                                             \
    {                                                                                              \
        0, "dim", "NAME=N", CLI_LIST, CLI_FIELD(dims), "none", 0, 0,                               \
            "the dim that the model calls NAME is N, in all inputs, for example batch=4"           \
    }
#define CLI_OPTION_SHAPE                                                                           \
    {                                                                                              \
        0, "shape", "NAME=DIMS", CLI_LIST, CLI_FIELD(shapes), "none", 0, 0,                        \
            "shape of a random input, for example x=1,3,224,224"                                   \
    }
#define CLI_OPTION_IMAGES                                                                          \
    {0,                                                                                            \
     "image-mean",                                                                                 \
     "R,G,B",                                                                                      \
     CLI_TEXT,                                                                                     \
     CLI_FIELD(image_mean),                                                                        \
     "none",                                                                                       \
     0,                                                                                            \
     0,                                                                                            \
     "of inputs that are images: pixels are (byte / 255 - mean) / std; one number holds for all "  \
     "channels, default is 0"},                                                                    \
        {0,                                                                                        \
         "image-std",                                                                              \
         "R,G,B",                                                                                  \
         CLI_TEXT,                                                                                 \
         CLI_FIELD(image_std),                                                                     \
         "none",                                                                                   \
         0,                                                                                        \
         0,                                                                                        \
         "what images are divided by after that; default is 1"},                                   \
    {                                                                                              \
        0, "layout", "ORDER", CLI_CHOICE, CLI_FIELD(layout), "nchw|nhwc", 0, 0,                    \
            "where the channels of images stand; default is what the dims of the input say"        \
    }
#define CLI_OPTION_RTOL                                                                            \
    {                                                                                              \
        0, "rtol", "R", CLI_REAL, CLI_FIELD(rtol), "none", 0, 1e30,                                \
            "relative tolerance; default is 1e-3"                                                  \
    }
#define CLI_OPTION_TIMEOUT                                                                         \
    {                                                                                              \
        0, "timeout", "SECONDS", CLI_REAL, CLI_FIELD(time_limit), "none", 1e-3, 1e6,               \
            "end a run after so long, and say what it waited for; default is never"                \
    }
#define CLI_OPTION_TRACE                                                                           \
    {                                                                                              \
        0, "trace", "FILE", CLI_TEXT, CLI_FIELD(trace), "file", 0, 0,                              \
            "write what the runs spent their time on, for ui.perfetto.dev or chrome://tracing"     \
    }
#define CLI_OPTION_REFRESH                                                                         \
    {                                                                                              \
        0, "refresh", NULL, CLI_FLAG, CLI_FIELD(refresh), "none", 0, 0,                            \
            "ask every plugin anew, though nothing that is known to matter has changed"            \
    }
#define CLI_OPTION_END                                                                             \
    {                                                                                              \
        0, NULL, NULL, CLI_FLAG, 0, NULL, 0, 0, NULL                                               \
    }

/* All commands, ended by NULL (main.c). */
extern const cli_command *const cli_commands[];
/* The command of this name or NULL. */
const cli_command *cli_find_command(const char *name);

/* ---- failures (failure.c) -------------------------------------------------------------------- */

/* The exit status that tells of this code. */
int cli_exit_of(int32_t code);

/* Tells of the failure, once: a sentence on standard error, and with --json an object on standard
 * output. Returns the exit status. */
int cli_fail(const cli_args *args, const tfr_err *err);
int cli_fail_as(const cli_args *args, const tfr_err *err, int exit_status);

/* The same for a wrong command line: names the --help that explains it. Returns 2. */
int cli_usage(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the runtime (open.c) -------------------------------------------------------------------- */

/*
 * Makes the runtime that the shared options and --backend ask for. A --backend that is not usable
 * is TFR_ENOTFOUND or TFR_EDEVICE with its reason and the names there are.
 */
tfr_status cli_open_runtime(const cli_args *args, tfr_runtime **out, tfr_err *err);

/* Are warnings logged, as far as the command line and the configuration decide it? */
bool cli_warns(const cli_args *args, const tfr_runtime *runtime);

/* Whether the state means that the plugin works. */
bool cli_plugin_is_usable(int32_t state);

#endif
