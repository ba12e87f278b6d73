/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_program.h: facets tfr.layout/1 and tfr.program/1, both optional: whole subgraphs,
 * and layouts between them. Included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_PROGRAM_H
#define TFRUN_PLUGIN_PROGRAM_H

#include <tfrun/plugin_kernel.h>

/* ---- facet tfr.layout/1 ---- */

#define TFR_LAYOUT_V1 "tfr.layout/1"

/* Dense and row-major. Every other number is the plugin's own name of a layout on one device. */
#define TFR_LAYOUT_PLAIN 0

/*
 * A tensor between two programs of one device may lie in a layout that only the plugin reads. The
 * core moves it around as bytes, and turns it into the plain one where somebody else reads it.
 * Layouts are equal if their numbers are; a number means the same until the device is closed.
 */
typedef struct tfr_layout_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [any]. Bytes of a tensor of this type and shape in a layout. */
    int32_t (*bytes)(tfr_plugin_device *device, const tfr_operand *tensor, uint64_t layout,
                     uint64_t *out, tfr_err *err);
    /* required [queue], as launch. One of the two layouts is plain. src and dst lie in space 0. */
    int32_t (*reorder)(tfr_plugin_device *device, tfr_queue *queue, const tfr_operand *tensor,
                       uint64_t from, const tfr_arg *src, uint64_t to, const tfr_arg *dst,
                       tfr_err *err);
    /* optional [any]. A short name for the tools, "nChw16c"; at most n bytes with the final zero.
     */
    void (*describe)(tfr_plugin_device *device, uint64_t layout, char *out, uint32_t n);
} tfr_layout_facet;
#define TFR_LAYOUT_MIN_SIZE ((uint32_t)(offsetof(tfr_layout_facet, reorder) + sizeof(void *)))

/* ---- facet tfr.program/1 ---- */

#define TFR_PROGRAM_V1 "tfr.program/1"

/*
 * A backend with this facet sees the graph before its nodes become kernels, and compiles what it
 * likes as a whole: with layouts, fusions, threads and memory of its own. What it leaves alone, or
 * fails to compile, runs as kernels: every node that it takes has had a yes from supports.
 *
 *   propose(graph) -> groups -> compile(each group) -> launch(program) ... -> drop(program)
 */

enum {
    TFR_VALUE_INPUT = 1u << 0,  /* made outside of the group; without data an argument of launch */
    TFR_VALUE_OUTPUT = 1u << 1, /* read outside of the group: an argument of launch */
    /*
     * INPUT or OUTPUT: everybody else who makes or reads it is a program of the same device, or the
     * core can reorder for the others; so an OUTPUT may get a layout of the plugin.
     */
    TFR_VALUE_ANY_LAYOUT = 1u << 2,
    /*
     * OUTPUT: the new state of a variable, whose old one, the value `variable`, is an INPUT that no
     * other program or kernel reads. The program may give it a layout of the plugin: the variable's
     * state then lies in that from launch to launch, so the INPUT comes in it, too, whatever its
     * layout is here.
     */
    TFR_VALUE_UPDATE = 1u << 3,
    /*
     * OUTPUT: has what the INPUT `variable` has, which the node that makes it reads, and then more
     * along one axis; nobody outside of the group reads it in this plan. INPUT: that one. There is
     * memory for the OUTPUT where the INPUT lies, at `strides`: see TFR_OUTPUT_APPENDS.
     */
    TFR_VALUE_APPEND = 1u << 4
};

typedef struct tfr_program_value {
    uint32_t size;
    uint32_t flags;             /* TFR_VALUE_... */
    const tfr_operand *operand; /* type and dims; data of known ones, readable until drop */
    uint64_t layout;            /* INPUT: how it will lie there; TFR_LAYOUT_PLAIN = 0 */
    int32_t node;               /* its maker in this graph, or -1 */
    uint32_t n_readers;         /* nodes of this graph that read it, each counted once */
    /*
     * OUTPUT that is the new state of a variable whose old one is an INPUT: number of that, over
     * which the program may write it (TFR_OUTPUT_IN_PLACE); with TFR_VALUE_APPEND that of the
     * INPUT; else -1
     */
    int32_t variable;
    const int64_t *strides; /* with TFR_VALUE_APPEND: in elements, the last one is 1; else NULL */
} tfr_program_value;

enum {
    TFR_NODE_MINE = 1u << 0, /* the core has placed it on this backend: a group may take it */
    /*
     * Reshape, Squeeze and their like: output 0 has the bytes of the plain input 0. The core does
     * it for nothing between programs, and a group may take it.
     */
    TFR_NODE_VIEW = 1u << 1
};

typedef struct tfr_program_node {
    uint32_t size;
    uint32_t flags;        /* TFR_NODE_...; none = somebody else's, here only to be seen */
    const char *name;      /* for messages */
    const tfr_call *call;  /* as supports has seen it, but all operands are plain */
    const int32_t *inputs; /* numbers of values, as many as the call has; -1 = absent */
    const int32_t *outputs;
} tfr_program_node;

/*
 * Nodes stand in an order in which each comes after those whose values it reads. It lives during
 * the call; the data of known operands live until the program is dropped. A constant of the model
 * has one address for all programs of a session, so packed constants can be shared by it; what the
 * core has computed while it planned has an address of its own in each plan. No address is used
 * again for another value before all programs that were given it are dropped.
 */
typedef struct tfr_program_graph {
    uint32_t size;
    uint32_t n_nodes, node_stride;
    uint32_t n_values, value_stride;
    uint32_t n_inputs, n_outputs;
    const tfr_program_node *nodes;
    const tfr_program_value *values;
    const int32_t *inputs;  /* compile: values that are the arguments of launch, in this order, */
    const int32_t *outputs; /* inputs first */
} tfr_program_graph;

/* What a plugin wants with a node. The core sets size, and group to -1. */
typedef struct tfr_proposal {
    uint32_t size;
    int32_t group;  /* nodes with one number >= 0 are compiled together; -1 = leave it alone */
    int32_t reason; /* tfr_reason why it is left alone */
    char text[128]; /* and the sentence */
} tfr_proposal;

enum {
    /*
     * The graph has come with ever new shapes, and may not come with these again: what takes long
     * to find out, as by measuring, is guessed better. There is no blob, and save is not called.
     */
    TFR_COMPILE_QUICK = 1
};

typedef struct tfr_compile_options {
    uint32_t size;
    uint32_t flags; /* TFR_COMPILE_... */
    /*
     * What save gave for an equal group on an equal machine once, or NULL. Groups are equal if
     * their ops, attributes, types, shapes, layouts and edges are: the values of constants do not
     * count, so nothing that was made of them belongs into a blob. It was in a file of the user's:
     * believe nothing that you do not check.
     */
    const void *blob;
    uint64_t blob_bytes;
    /*
     * [any], during compile alone: the backend has its own form of an operand's data and will
     * hardly read them again, though it may. They can leave memory meanwhile.
     */
    void (*advise_unused)(void *user, const void *data);
    void *user; /* for advise_unused */
} tfr_compile_options;

enum {
    /*
     * of an output with a `variable`: launch may get one address for it and for that input, and
     * gets it if nobody else needs the old state any more.
     */
    TFR_OUTPUT_IN_PLACE = 1u << 0,
    /*
     * of an output with TFR_VALUE_APPEND: launch gets one address for it and for its INPUT, and
     * both lie there at `strides`. It writes what is new, and nothing of what the INPUT has.
     * Without this answer both are plain, and not in one place.
     */
    TFR_OUTPUT_APPENDS = 1u << 1
};

/* How output i of a program is stored. */
typedef struct tfr_program_output {
    uint32_t size;
    uint32_t flags;  /* TFR_OUTPUT_... */
    uint64_t layout; /* TFR_LAYOUT_PLAIN, or the plugin's own if the value may have one */
} tfr_program_output;

/* The core zeroes it and sets size. */
typedef struct tfr_program_info {
    uint32_t size;
    uint32_t flags;           /* TFR_ANSWER_... */
    uint64_t time_ns;         /* of one launch, estimated or measured; 0 = unknown */
    uint64_t workspace_bytes; /* of space 0 for each launch, aligned as the space */
    uint64_t lower_bound;     /* most bytes of the workspace that hold something at one time */
    uint64_t constant_bytes;  /* packed constants that this program added */
    uint32_t n_kernels;       /* that one launch runs, and */
    uint32_t n_reorders;      /* copies between layouts, edges included */
    char text[256];           /* for the tools: what was fused, how the work is shared out */
} tfr_program_info;

typedef struct tfr_program tfr_program;

enum {
    /*
     * compile and save are [any]: for one device, too, and while another thread is in a [device]
     * slot of it, trim and drop of other programs among them. Two threads may compile equal groups
     * at once. The core may call them for a device that gets lost meanwhile.
     */
    TFR_PROGRAM_COMPILE_ANY = 1u << 0,
    /*
     * Groups do not depend on sizes: for other dims of the same nodes compile may be given the
     * groups of before, though neither supports nor propose was asked about these dims. It looks at
     * them itself, and says TFR_EUNSUPPORTED where it cannot; then all is asked anew.
     */
    TFR_PROGRAM_ANY_DIMS = 1u << 1
};

typedef struct tfr_program_facet {
    uint32_t size;
    uint32_t flags; /* TFR_PROGRAM_..., those that the core does not know have no effect */
    /*
     * required [any]. Pure. out has a row for each node, stride bytes apart. A group may be any set
     * of nodes that are MINE or VIEW; where a path leaves it and comes back the core cuts it, so
     * compile may see parts of it.
     */
    int32_t (*propose)(tfr_plugin_device *device, const tfr_program_graph *graph, tfr_proposal *out,
                       uint32_t stride, tfr_err *err);
    /*
     * required [device], with TFR_PROGRAM_COMPILE_ANY [any]. graph holds the nodes of one group
     * alone. outputs has a row for each output, stride bytes apart, plain at first.
     * TFR_EUNSUPPORTED = not as a whole: the nodes become kernels, and that is no defect; any other
     * failure but TFR_ENOMEM is one. May measure; then the same options and graph may give another
     * program, but one of equal values for equal blobs, and, where its calls have
     * TFR_CALL_DETERMINISTIC, for all blobs.
     */
    int32_t (*compile)(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const tfr_compile_options *options, tfr_program **out,
                       tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                       tfr_err *err);
    /* required: as launch of a kernel. */
    int32_t (*launch)(tfr_plugin_device *device, tfr_queue *queue, tfr_program *program,
                      const tfr_launch *launch, tfr_err *err);
    /* required [device]. No launch of it is under way. NULL is fine. */
    void (*drop)(tfr_plugin_device *device, tfr_program *program);
    /*
     * optional, as compile. What compile need not find out again, at most *n bytes; sets *n to the
     * bytes there are, also if they are more; then it is called again with room for them, if they
     * are at most 16 MiB. The core keeps it and gives it to later compiles of equal groups: up to
     * 16384 bytes with what it remembers of the machine (TFRUN_TUNING), more in the store of
     * TFR_HOST_STORE_V1, for code.
     */
    int32_t (*save)(tfr_plugin_device *device, tfr_program *program, void *out, uint64_t *n,
                    tfr_err *err);
} tfr_program_facet;
#define TFR_PROGRAM_MIN_SIZE ((uint32_t)(offsetof(tfr_program_facet, drop) + sizeof(void *)))

#endif
