/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ops.c: `tfrun ops`: the op table, and which backends claim each op. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/autodiff.h>
#include <tfrun/fail.h>

#include "commands.h"
#include "json.h"
#include "suggest.h"
#include "table.h"

/* Has a list with commas this word? */
static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (*list) {
        size_t item = strcspn(list, ",");
        if (item == n && memcmp(list, word, n) == 0)
            return true;
        list += item;
        list += strspn(list, ", ");
    }
    return false;
}

/* Steps through the plugins that claim an op; starts zeroed. */
typedef struct claim {
    char seen[256];
    uint32_t device, backend;
    const char *plugin;
    uint64_t here, conditional; /* element types of operand 0, 0 = unspecified */
} claim;

/* False at the end. */
static bool next_claim(const tfr_runtime *runtime, uint32_t op, claim *c)
{
    for (; c->device < tfr_runtime_n_devices(runtime); c->device++, c->backend = 0) {
        tfr_backend_desc b = {.size = sizeof b};
        while (!tfr_runtime_backend(runtime, c->device, c->backend, &b, NULL)) {
            uint32_t i = c->backend++;
            size_t used = strlen(c->seen);
            /* Logical devices share their plugins. */
            if (!tfr_runtime_claims(runtime, c->device, i, op) || list_has(c->seen, b.plugin) ||
                used + strlen(b.plugin) + 2 > sizeof c->seen)
                continue;
            snprintf(c->seen + used, sizeof c->seen - used, "%s%s", used ? "," : "", b.plugin);
            c->plugin = b.plugin;
            c->here = c->conditional = 0;
            tfr_runtime_claim_types(runtime, c->device, i, op, &c->here, &c->conditional);
            return true;
        }
    }
    return false;
}

/* The short names of element types, as the op table's signatures have them. */
static const char *const type_names[TFR_DTYPE_END] = {
#define TYPE_NAME(name, number, bits, text) [number] = #name,
    TFR_DTYPE_LIST(TYPE_NAME)
#undef TYPE_NAME
};

/* "f32 bf16"; whole families of types by one word. */
static void types_text(uint64_t types, char *text, size_t n)
{
#define TYPE(name) (UINT64_C(1) << TFR_DTYPE_##name)
    static const struct {
        const char *name;
        uint64_t types;
    } families[] = {
        {"int", TYPE(U8) | TYPE(U16) | TYPE(U32) | TYPE(U64) | TYPE(I8) | TYPE(I16) | TYPE(I32) |
                    TYPE(I64)},
        {"float", TYPE(F16) | TYPE(F32) | TYPE(F64) | TYPE(BF16)},
        {"f8", TYPE(F8E4M3FN) | TYPE(F8E4M3FNUZ) | TYPE(F8E5M2) | TYPE(F8E5M2FNUZ)},
    };
#undef TYPE
    size_t used = 0;
    *text = 0;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        if ((types & families[f].types) == families[f].types) {
            used += (size_t)snprintf(text + used, n - used, " %s", families[f].name);
            types &= ~families[f].types;
        }
    for (int t = 1; t < TFR_DTYPE_END; t++)
        if (types >> t & 1 && used + 12 < n) {
            text[used++] = ' ';
            for (const char *at = type_names[t]; *at; at++)
                text[used++] = (char)tolower((unsigned char)*at);
            text[used] = 0;
        }
}

/* "onednn: f32 bf16; naive: float"; "core" for what the core does itself, "decomposition" for what
 * nodes of other ops may do instead. */
static void claims_text(const tfr_runtime *runtime, uint32_t op, const tfr_op_desc *row, char *text,
                        size_t n)
{
    claim c = {0};
    size_t used = (size_t)snprintf(text, n, "%s",
                                   row->metadata            ? "core"
                                   : row->decomposition & 4 ? "written out"
                                   : row->decomposition     ? "decomposition"
                                                            : "");
    while (next_claim(runtime, op, &c) && used < n) {
        char types[200];
        types_text(c.here, types, sizeof types);
        used += (size_t)snprintf(text + used, n - used, "%s%s%s%s", used ? "; " : "", c.plugin,
                                 *types ? ":" : "", types);
    }
}

/* Is there a backend of this plugin that claims op? */
static bool is_claimed_by(const tfr_runtime *runtime, uint32_t op, const char *plugin)
{
    for (uint32_t d = 0; d < tfr_runtime_n_devices(runtime); d++) {
        tfr_backend_desc b = {.size = sizeof b};
        for (uint32_t i = 0; !tfr_runtime_backend(runtime, d, i, &b, NULL); i++)
            if (strcmp(b.plugin, plugin) == 0 && tfr_runtime_claims(runtime, d, i, op))
                return true;
    }
    return false;
}

static const char *op_name(const void *user, uint32_t i)
{
    tfr_op_desc op = {.size = sizeof op};
    (void)user;
    return tfr_op_describe(i, &op, NULL) ? "" : op.name;
}

/* Does the user want to see it? No words want all; DOMAIN::NAME is understood, too. */
static bool is_wanted(const cli_args *args, const tfr_runtime *runtime, uint32_t i,
                      const tfr_op_desc *op)
{
    bool named = args->n_words == 0;
    for (uint32_t w = 0; w < args->n_words; w++)
        named = named || strcasecmp(args->words[w], op->name) == 0;
    return named && (!args->backend || is_claimed_by(runtime, i, args->backend));
}

/* A word that names no op is answered with the nearest one. */
static tfr_status check_words(const cli_args *args, tfr_err *err)
{
    for (uint32_t w = 0; w < args->n_words; w++) {
        char hint[128];
        bool found = false;
        for (uint32_t i = 0; i < tfr_op_count() && !found; i++)
            found = strcasecmp(args->words[w], op_name(NULL, i)) == 0;
        if (!found)
            return tfr_fail(
                err, TFR_ENOTFOUND, "there is no op \"%s\"%s", args->words[w],
                *cli_did_you_mean(args->words[w], op_name, NULL, tfr_op_count(), hint, sizeof hint)
                    ? hint
                    : "; `tfrun ops` lists them");
    }
    return TFR_OK;
}

/* The name of the next input whose value decides a shape, cut to n bytes. */
static bool next_shape_input(const tfr_op_desc *op, uint32_t *i, const char **at, char *name,
                             size_t n)
{
    while (**at) {
        const char *item = *at;
        const bool decides = *i < 32 && op->shape_inputs >> *i & 1;
        *at += strcspn(item, " ");
        *at += strspn(*at, " ");
        ++*i;
        if (decides) {
            snprintf(name, n, "%.*s", (int)strcspn(item, "?.:"), item);
            return true;
        }
    }
    return false;
}

static void shape_inputs_text(const tfr_op_desc *op, char *text, size_t n)
{
    const char *at = op->inputs;
    char name[64];
    size_t used = 0;
    uint32_t i = 0;
    *text = '\0';
    while (next_shape_input(op, &i, &at, name, sizeof name) && used < n)
        used += (size_t)snprintf(text + used, n - used, "%s%s", used ? " " : "", name);
}

static json_t *shape_inputs_json(const tfr_op_desc *op)
{
    json_t *names = json_array();
    const char *at = op->inputs;
    char name[64];
    uint32_t i = 0;
    while (next_shape_input(op, &i, &at, name, sizeof name))
        cli_json_append(names, cli_json_text(name));
    return names;
}

static tfr_status print_ops(const cli_args *args, const tfr_runtime *runtime, tfr_err *err)
{
    static const char *const titles[] = {"OP", "DOMAIN", "SINCE", "BACKENDS"};
    static const char *const long_titles[] = {"OP",         "DOMAIN",    "SINCE",      "BACKENDS",
                                              "INPUTS",     "OUTPUTS",   "ATTRIBUTES", "TYPES",
                                              "SHAPE FROM", "COMPATIBLE"};
    static const uint32_t flags[] = {0,        0,        CLI_RIGHT, CLI_WRAP, CLI_WRAP,
                                     CLI_WRAP, CLI_WRAP, CLI_WRAP,  CLI_WRAP, CLI_RIGHT};
    bool all = args->verbose || args->n_words;
    cli_table *table = cli_table_create(all ? 10 : 4, all ? long_titles : titles, flags);
    uint32_t n = 0, n_claimed = 0;
    tfr_status status;
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc op = {.size = sizeof op};
        char claims[600];
        status = tfr_op_describe(i, &op, err);
        if (status) {
            cli_table_destroy(table);
            return status;
        }
        if (!is_wanted(args, runtime, i, &op))
            continue;
        claims_text(runtime, i, &op, claims, sizeof claims);
        n++;
        n_claimed += *claims != 0;
        cli_table_add(table, "%s", op.name);
        cli_table_add(table, "%s%s%s", *op.domain ? op.domain : "ai.onnx", op.plugin ? ", by " : "",
                      op.plugin ? op.plugin : "");
        cli_table_add(table, "%d", (int)op.since_version);
        cli_table_add(table, "%s", *claims ? claims : "-");
        if (all) {
            cli_table_add(table, "%s", op.inputs);
            cli_table_add(table, "%s", op.outputs);
            cli_table_add(table, "%s", op.attrs);
            cli_table_add(table, "%s", op.types);
            shape_inputs_text(&op, claims, sizeof claims);
            cli_table_add(table, "%s", *claims ? claims : "-");
            cli_table_add(table, "%d", (int)op.compat_version);
        }
    }
    status = cli_table_print(table, err);
    if (!status && !args->n_words)
        printf("%u ops, %u of them with a backend\n", (unsigned)n, (unsigned)n_claimed);
    return status;
}

/* "yes", "zero", or why it has no gradient. */
static const char *gradient_text(const tfr_op_desc *op)
{
    const char *why = NULL;
    tfr_gradient_kind kind = tfr_op_gradient(op->domain, op->name, &why);
    if (op->plugin)
        return op->gradient ? "yes" : "its plugin brings no gradient";
    return kind == TFR_GRADIENT_RULE ? "yes" : kind == TFR_GRADIENT_ZERO ? "zero" : why;
}

static json_t *types_json(uint64_t types)
{
    json_t *names = json_array();
    for (int t = 1; t < TFR_DTYPE_END; t++)
        if (types >> t & 1)
            cli_json_append(names, cli_json_text(tfr_dtype_name((tfr_dtype)t)));
    return names;
}

static json_t *op_json(const tfr_runtime *runtime, uint32_t i, const tfr_op_desc *op)
{
    json_t *row = json_object(), *names = json_array(), *here = json_object(),
           *conditional = json_object();
    char digest[24];
    claim c = {0};
    if (op->metadata)
        cli_json_append(names, cli_json_text("core"));
    while (next_claim(runtime, i, &c)) {
        cli_json_append(names, cli_json_text(c.plugin));
        if (c.here | c.conditional)
            cli_json_set(here, c.plugin, types_json(c.here));
        if (c.conditional)
            cli_json_set(conditional, c.plugin, types_json(c.conditional));
    }
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)op->digest);
    cli_json_set(row, "name", cli_json_text(op->name));
    cli_json_set(row, "domain", cli_json_text(op->domain));
    cli_json_set(row, "since_version", json_integer(op->since_version));
    cli_json_set(row, "compat_version", json_integer(op->compat_version));
    cli_json_set(row, "metadata", json_boolean(op->metadata));
    cli_json_set(row, "backends", names);
    cli_json_set(row, "dtypes", here);
    cli_json_set(row, "dtypes_conditional", conditional);
    cli_json_set(row, "inputs", cli_json_text(op->inputs));
    cli_json_set(row, "shape_inputs", shape_inputs_json(op));
    cli_json_set(row, "outputs", cli_json_text(op->outputs));
    cli_json_set(row, "attributes", cli_json_text(op->attrs));
    cli_json_set(row, "differentiable", cli_json_text(gradient_text(op)));
    cli_json_set(row, "types", cli_json_text(op->types));
    cli_json_set(row, "normal_form", cli_json_text(op->normal_form));
    cli_json_set(row, "digest", cli_json_text(digest));
    cli_json_set(row, "plugin", op->plugin ? cli_json_text(op->plugin) : json_null());
    cli_json_set(row, "decomposition", json_boolean(op->decomposition));
    cli_json_set(row, "gradient", json_boolean(op->gradient));
    return row;
}

static tfr_status print_json(const cli_args *args, const tfr_runtime *runtime, tfr_err *err)
{
    json_t *object = cli_json_start("ops"), *rows = json_array();
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc op = {.size = sizeof op};
        if (!tfr_op_describe(i, &op, NULL) && is_wanted(args, runtime, i, &op))
            cli_json_append(rows, op_json(runtime, i, &op));
    }
    cli_json_set(object, "ops", rows);
    return cli_json_print(object, err);
}

static int ops_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime;
    tfr_status status;
    status = cli_open_runtime(args, &runtime, &err); /* whose plugins may bring ops */
    if (status)
        return cli_fail(args, &err);
    if (check_words(args, &err)) {
        tfr_runtime_release(runtime);
        return cli_fail_as(args, &err, CLI_EXIT_USAGE);
    }
    status = args->json ? print_json(args, runtime, &err) : print_ops(args, runtime, &err);
    tfr_runtime_release(runtime);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option ops_options[] = {{'b', "backend", "NAME", CLI_TEXT, CLI_FIELD(backend),
                                          "backend", 0, 0, "only the ops that this backend claims"},
                                         CLI_OPTION_END};

const cli_command cli_ops = {
    .name = "ops",
    .words = "[OP]...",
    .most_words = UINT32_MAX,
    .word_values = "op",
    .summary = "List the ops that tfrun knows and the backends that claim them",
    .text = "With names of ops, or with --verbose, the inputs, outputs, attributes and types\n"
            "are listed, too, and the inputs whose values decide a shape, which a backend\n"
            "reads on the host. The types behind a backend are those that the first operand\n"
            "may have there. \"core\" is what the core does itself on every device,\n"
            "\"decomposition\" what other ops compute where no backend has a kernel, \"written\n"
            "out\" what becomes other ops while a model is read; ops of a plugin's own have\n"
            "its name behind the domain.",
    .log_level = TFR_LOG_WARNING,
    .options = ops_options,
    .run = ops_run,
};
