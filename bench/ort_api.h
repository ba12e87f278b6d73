/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/ort_api.h: the part of ONNX Runtime's C interface that we call, declared anew. Its table of
 * functions only grows, so a slot's number never changes; ort_library.c asks for version 8 of it,
 * which has all of these (ONNX Runtime 1.8, 2021, and everything newer).
 */
#ifndef TFR_BENCH_ORT_API_H
#define TFR_BENCH_ORT_API_H

#include <stddef.h>
#include <stdint.h>

#define ORT_API_VERSION_WANTED 8

typedef struct ort_object ort_object; /* any of its objects; each has its own release */
typedef struct ort_status ort_status; /* NULL = well */
typedef void (*ort_fn)(void);         /* a slot; cast to its type before the call */

typedef struct ort_api_base {
    const ort_fn *(*get_api)(uint32_t version); /* NULL = older than this version */
    const char *(*version)(void);
} ort_api_base;

/* X(our name, slot, result, arguments) */
#define ORT_SLOTS(X)                                                                               \
    X(error_code, 1, int, (const ort_status *status))                                              \
    X(message, 2, const char *, (const ort_status *status))                                        \
    X(create_env, 3, ort_status *, (int level, const char *name, ort_object **out))                \
    X(create_session, 7, ort_status *,                                                             \
      (const ort_object *env, const char *path, const ort_object *options, ort_object **out))      \
    X(create_session_from_array, 8, ort_status *,                                                  \
      (const ort_object *env, const void *data, size_t bytes, const ort_object *options,           \
       ort_object **out))                                                                          \
    X(run, 9, ort_status *,                                                                        \
      (ort_object * session, const ort_object *options, const char *const *input_names,            \
       const ort_object *const *inputs, size_t n_inputs, const char *const *output_names,          \
       size_t n_outputs, ort_object **outputs))                                                    \
    X(create_session_options, 10, ort_status *, (ort_object * *out))                               \
    X(set_optimization_level, 23, ort_status *, (ort_object * options, int level))                 \
    X(set_intra_op_threads, 24, ort_status *, (ort_object * options, int n))                       \
    X(set_inter_op_threads, 25, ort_status *, (ort_object * options, int n))                       \
    X(output_type, 34, ort_status *, (const ort_object *session, size_t i, ort_object **out))      \
    X(create_tensor, 48, ort_status *,                                                             \
      (ort_object * allocator, const int64_t *dims, size_t rank, int dtype, ort_object **out))     \
    X(create_tensor_with_data, 49, ort_status *,                                                   \
      (const ort_object *memory, void *data, size_t bytes, const int64_t *dims, size_t rank,       \
       int dtype, ort_object **out))                                                               \
    X(is_tensor, 50, ort_status *, (const ort_object *value, int *out))                            \
    X(tensor_data, 51, ort_status *, (ort_object * value, void **out))                             \
    X(fill_strings, 52, ort_status *, (ort_object * value, const char *const *strings, size_t n))  \
    X(kind_of_type, 56, ort_status *, (const ort_object *type, int *out))                          \
    X(element_type, 60, ort_status *, (const ort_object *info, int *out))                          \
    X(n_dims, 61, ort_status *, (const ort_object *info, size_t *out))                             \
    X(dims, 62, ort_status *, (const ort_object *info, int64_t *out, size_t n))                    \
    X(type_and_shape, 65, ort_status *, (const ort_object *value, ort_object **out))               \
    X(create_cpu_memory_info, 69, ort_status *, (int allocator, int memory, ort_object **out))     \
    X(default_allocator, 78, ort_status *, (ort_object * *out)) /* not to be released */           \
    X(release_env, 92, void, (ort_object * env))                                                   \
    X(release_status, 93, void, (ort_status * status))                                             \
    X(release_memory_info, 94, void, (ort_object * info))                                          \
    X(release_session, 95, void, (ort_object * session))                                           \
    X(release_value, 96, void, (ort_object * value))                                               \
    X(release_type, 98, void, (ort_object * type))                                                 \
    X(release_type_and_shape, 99, void, (ort_object * info))                                       \
    X(release_session_options, 100, void, (ort_object * options))                                  \
    X(add_session_config, 130, ort_status *,                                                       \
      (ort_object * options, const char *key, const char *value))

typedef struct ort_api {
#define ORT_FIELD(name, slot, result, arguments) result(*name) arguments;
    ORT_SLOTS(ORT_FIELD)
#undef ORT_FIELD
} ort_api;

/* ORT_LOG_FATAL says nothing of what a status says. */
enum {
    ORT_LOG_FATAL = 4,
    ORT_LOG_ERROR = 3,
    ORT_OPTIMIZE_NONE = 0,
    ORT_OPTIMIZE_ALL = 99,
    ORT_ALLOCATOR_DEVICE = 0,
    ORT_MEMORY_DEFAULT = 0,
    ORT_KIND_TENSOR = 1
};

#endif
