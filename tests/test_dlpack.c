/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/value/tensor_dlpack.c, which see DLPack's structs as another library does. */
#include "tfr_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <tfrun/tfrun.h>

#include "base/alloc.h"

/* As DLPack 1.3 has them; that this compiles shows that its own header may come, too. */
typedef struct {
    uint32_t major;
    uint32_t minor;
} DLPackVersion;
typedef struct {
    int32_t device_type;
    int32_t device_id;
} DLDevice;
typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

enum { READ_ONLY = 1, IS_COPIED = 2, PADDED = 4 };

static tfr_err err = TFR_ERR_INIT;

/* ---- a producer that counts ------------------------------------------------------------------ */

static int n_deleted;

static void count_delete(DLManagedTensorVersioned *self)
{
    (void)self;
    n_deleted++;
}

static _Alignas(64) float numbers[24];
static int64_t dims[TFR_MAX_RANK + 1], strides[TFR_MAX_RANK + 1];

/* float32 0, 1, 2... of shape [2,3], in host memory. */
static DLManagedTensorVersioned producer(void)
{
    for (int i = 0; i < 24; i++)
        numbers[i] = (float)i;
    for (int i = 0; i <= TFR_MAX_RANK; i++)
        dims[i] = strides[i] = 1;
    dims[0] = 2;
    dims[1] = strides[0] = 3;
    n_deleted = 0;
    return (DLManagedTensorVersioned){
        {1, 0}, NULL, count_delete, 0, {numbers, {1, 0}, 2, {2, 32, 1}, dims, strides, 0}};
}

static tfr_tensor *import(DLManagedTensorVersioned *managed)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_from_dlpack(managed, &t, &err), &err);
    return t;
}

/* Says so with this code and these words, gives nothing, and leaves managed to the caller. */
static void check_refused(DLManagedTensorVersioned *managed, tfr_status expected, const char *part)
{
    const uint64_t live = tfr__alloc_live();
    tfr_tensor *t = NULL;
    CHECK_STATUS(expected, tfr_tensor_from_dlpack(managed, &t, &err), &err);
    CHECK_CONTAINS(part, err.text);
    CHECK(t == NULL);
    CHECK_INT(0, n_deleted);
    CHECK_UINT(live, tfr__alloc_live());
}

static tfr_tensor *new_tensor(tfr_dtype dtype, int32_t rank, const int64_t *sizes)
{
    tfr_shape shape;
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_shape_make(rank, sizes, &shape, &err), &err);
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &t, &err), &err);
    return t;
}

static DLManagedTensorVersioned *export(tfr_tensor *t, uint32_t flags)
{
    DLManagedTensorVersioned *managed = NULL;
    REQUIRE_OK(tfr_tensor_to_dlpack(t, flags, &managed, &err), &err);
    REQUIRE(managed != NULL);
    return managed;
}

/* ---- out ------------------------------------------------------------------------------------- */

TEST(an_export_is_the_tensors_own_memory)
{
    const uint64_t live = tfr__alloc_live();
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 2, (int64_t[]){2, 3});
    DLManagedTensorVersioned *m = export(t, 0);
    CHECK_UINT(1, m->version.major);
    CHECK_UINT(1, m->version.minor);
    CHECK_UINT(0, m->flags);
    CHECK(m->dl_tensor.data == tfr_tensor_data(t));
    CHECK_UINT(0, m->dl_tensor.byte_offset);
    CHECK_INT(1, m->dl_tensor.device.device_type);
    CHECK_INT(0, m->dl_tensor.device.device_id);
    REQUIRE_INT(2, m->dl_tensor.ndim);
    CHECK_INT(2, m->dl_tensor.shape[0]);
    CHECK_INT(3, m->dl_tensor.shape[1]);
    CHECK_INT(3, m->dl_tensor.strides[0]);
    CHECK_INT(1, m->dl_tensor.strides[1]);
    m->deleter(NULL);
    m->deleter(m);
    tfr_tensor_release(t);
    CHECK_UINT(live, tfr__alloc_live());
}

TEST(every_type_but_strings_goes_out_and_comes_back)
{
    static const uint8_t expected[TFR_DTYPE_END][2] = {
        [TFR_DTYPE_F32] = {2, 32},        [TFR_DTYPE_U8] = {1, 8},
        [TFR_DTYPE_I8] = {0, 8},          [TFR_DTYPE_U16] = {1, 16},
        [TFR_DTYPE_I16] = {0, 16},        [TFR_DTYPE_I32] = {0, 32},
        [TFR_DTYPE_I64] = {0, 64},        [TFR_DTYPE_BOOL] = {6, 8},
        [TFR_DTYPE_F16] = {2, 16},        [TFR_DTYPE_F64] = {2, 64},
        [TFR_DTYPE_U32] = {1, 32},        [TFR_DTYPE_U64] = {1, 64},
        [TFR_DTYPE_C64] = {5, 64},        [TFR_DTYPE_C128] = {5, 128},
        [TFR_DTYPE_BF16] = {4, 16},       [TFR_DTYPE_F8E4M3FN] = {10, 8},
        [TFR_DTYPE_F8E4M3FNUZ] = {11, 8}, [TFR_DTYPE_F8E5M2] = {12, 8},
        [TFR_DTYPE_F8E5M2FNUZ] = {13, 8}, [TFR_DTYPE_U4] = {1, 4},
        [TFR_DTYPE_I4] = {0, 4},          [TFR_DTYPE_F4E2M1] = {17, 4},
        [TFR_DTYPE_F8E8M0] = {14, 8},     [TFR_DTYPE_U2] = {1, 2},
        [TFR_DTYPE_I2] = {0, 2},
    };
    for (int dtype = 1; dtype < TFR_DTYPE_END; dtype++) {
        if (dtype == TFR_DTYPE_STRING)
            continue;
        tfr_tensor *t = new_tensor((tfr_dtype)dtype, 1, (int64_t[]){5}), *back;
        DLManagedTensorVersioned *m = export(t, 0);
        CHECK_UINT(expected[dtype][0], m->dl_tensor.dtype.code);
        CHECK_UINT(expected[dtype][1], m->dl_tensor.dtype.bits);
        CHECK_UINT(1, m->dl_tensor.dtype.lanes);
        back = import(m);
        CHECK_INT(dtype, tfr_tensor_dtype(back));
        CHECK(tfr_tensor_data(back) == tfr_tensor_data(t));
        CHECK_UINT(tfr_tensor_bytes(t), tfr_tensor_bytes(back));
        CHECK(!tfr_tensor_is_read_only(back));
        tfr_tensor_release(back);
        tfr_tensor_release(t);
    }
}

TEST(strings_and_sequences_are_refused_with_what_to_do)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_STRING, 1, (int64_t[]){2}), *list = NULL;
    DLManagedTensorVersioned *m = NULL;
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_tensor_to_dlpack(t, 0, &m, &err), &err);
    CHECK_STR("DLPack has no type string; tfr_tensor_get_string gives the elements", err.text);
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_NONE, &t, 1, &list, &err), &err);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_tensor_to_dlpack(list, 0, &m, &err), &err);
    CHECK_CONTAINS("tfr_sequence_at", err.text);
    CHECK(m == NULL);
    tfr_tensor_release(list);
    tfr_tensor_release(t);
}

TEST(missing_arguments_and_unknown_flags_are_refused)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 0, NULL);
    DLManagedTensorVersioned *m = NULL;
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_to_dlpack(NULL, 0, &m, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_to_dlpack(t, 0, NULL, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_to_dlpack(t, PADDED, &m, &err), &err);
    CHECK(m == NULL);
    tfr_tensor_release(t);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_from_dlpack(NULL, &t, &err), &err);
    DLManagedTensorVersioned p = producer();
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_from_dlpack(&p, NULL, &err), &err);
    CHECK_INT(0, n_deleted);
}

TEST(an_export_of_a_view_has_its_strides_and_may_outlive_all_others)
{
    const uint64_t live = tfr__alloc_live();
    tfr_tensor *t = new_tensor(TFR_DTYPE_I32, 2, (int64_t[]){2, 3}), *view = NULL;
    int32_t *data = tfr_tensor_data(t);
    for (int32_t i = 0; i < 6; i++)
        data[i] = i;
    REQUIRE_OK(tfr_tensor_view(t, 2, &(tfr_shape){2, {3, 2}}, (int64_t[]){-1, 3}, &view, &err),
               &err);
    DLManagedTensorVersioned *m = export(view, 0);
    tfr_tensor_release(t);
    tfr_tensor_release(view);
    CHECK(m->dl_tensor.data == data + 2);
    CHECK_INT(-1, m->dl_tensor.strides[0]);
    CHECK_INT(3, m->dl_tensor.strides[1]);
    CHECK_INT(2, *(int32_t *)m->dl_tensor.data);
    m->deleter(m);
    CHECK_UINT(live, tfr__alloc_live());
}

TEST(what_a_taker_writes_into_the_sizes_is_not_the_tensors)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 2, (int64_t[]){2, 3});
    DLManagedTensorVersioned *m = export(t, 0);
    m->dl_tensor.shape[0] = m->dl_tensor.strides[0] = 1000;
    CHECK_INT(2, tfr_tensor_shape(t)->dims[0]);
    CHECK_INT(3, tfr_tensor_strides(t)[0]);
    m->deleter(m);
    tfr_tensor_release(t);
}

TEST(a_copy_is_the_takers_own_and_says_so)
{
    static const float constant[2] = {1, 2};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_wrap_bytes(TFR_DTYPE_F32, &(tfr_shape){1, {2}}, constant, NULL, NULL,
                                     NULL, &t, &err),
               &err);
    DLManagedTensorVersioned *m = export(t, TFR_DLPACK_COPY);
    CHECK_UINT(IS_COPIED, m->flags);
    CHECK(m->dl_tensor.data != constant);
    CHECK_MEM(constant, m->dl_tensor.data, sizeof constant);
    tfr_tensor_release(t);
    ((float *)m->dl_tensor.data)[0] = 3;
    m->deleter(m);
}

TEST(no_elements_go_out_without_memory_and_come_back)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_F64, 2, (int64_t[]){0, 4}), *back;
    DLManagedTensorVersioned *m = export(t, 0);
    CHECK(m->dl_tensor.data == NULL);
    back = import(m);
    CHECK_INT(0, tfr_tensor_elements(back));
    CHECK_INT(4, tfr_tensor_shape(back)->dims[1]);
    tfr_tensor_release(back);
    tfr_tensor_release(t);
}

static void *delete_it(void *managed)
{
    DLManagedTensorVersioned *m = managed;
    m->deleter(m);
    return NULL;
}

TEST(a_deleter_runs_on_any_thread)
{
    enum { N = 8 };
    const uint64_t live = tfr__alloc_live();
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 1, (int64_t[]){4});
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        REQUIRE_INT(0, pthread_create(&threads[i], NULL, delete_it, export(t, 0)));
    tfr_tensor_release(t);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    CHECK_UINT(live, tfr__alloc_live());
}

/* ---- in -------------------------------------------------------------------------------------- */

TEST(an_import_is_the_producers_memory_until_the_last_reference_goes)
{
    DLManagedTensorVersioned p = producer();
    tfr_tensor *t = import(&p), *view = NULL;
    CHECK(tfr_tensor_data(t) == numbers);
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(t));
    CHECK_INT(6, tfr_tensor_elements(t));
    CHECK(tfr_tensor_is_plain(t));
    CHECK(!tfr_tensor_is_read_only(t));
    ((float *)tfr_tensor_data(t))[1] = 7;
    CHECK_NEAR(7, numbers[1], 0);
    REQUIRE_OK(tfr_tensor_view(t, 3, &(tfr_shape){1, {3}}, NULL, &view, &err), &err);
    tfr_tensor_release(t);
    CHECK_INT(0, n_deleted);
    tfr_tensor_release(view);
    CHECK_INT(1, n_deleted);
}

TEST(a_producer_without_a_deleter_is_fine)
{
    DLManagedTensorVersioned p = producer();
    p.deleter = NULL;
    tfr_tensor_release(import(&p));
}

TEST(strides_may_be_absent_and_the_offset_is_in_bytes)
{
    DLManagedTensorVersioned p = producer();
    p.dl_tensor.strides = NULL;
    p.dl_tensor.byte_offset = 8;
    tfr_tensor *t = import(&p);
    CHECK(tfr_tensor_data(t) == numbers + 2);
    CHECK_INT(3, tfr_tensor_strides(t)[0]);
    CHECK(tfr_tensor_is_plain(t));
    tfr_tensor_release(t);
}

TEST(strides_are_in_elements_and_may_be_zero_or_negative)
{
    static const float expected[6] = {5, 5, 5, 2, 2, 2};
    DLManagedTensorVersioned p = producer();
    tfr_tensor *t, *copy = NULL;
    strides[0] = -3;
    strides[1] = 0;
    p.dl_tensor.byte_offset = 5 * sizeof(float);
    t = import(&p);
    CHECK(!tfr_tensor_is_plain(t));
    REQUIRE_OK(tfr_tensor_copy(t, &copy, &err), &err);
    CHECK_MEM(expected, tfr_tensor_data(copy), sizeof expected);
    tfr_tensor_release(copy);
    tfr_tensor_release(t);
    CHECK_INT(1, n_deleted);
}

TEST(a_scalar_needs_neither_sizes_nor_strides)
{
    DLManagedTensorVersioned p = producer();
    p.dl_tensor.ndim = 0;
    p.dl_tensor.shape = p.dl_tensor.strides = NULL;
    tfr_tensor *t = import(&p);
    CHECK_INT(1, tfr_tensor_elements(t));
    CHECK_INT(0, tfr_tensor_shape(t)->rank);
    tfr_tensor_release(t);
}

TEST(no_elements_need_no_memory_whatever_the_offset)
{
    DLManagedTensorVersioned p = producer();
    dims[0] = 0;
    p.dl_tensor.data = NULL;
    p.dl_tensor.byte_offset = UINT64_MAX;
    tfr_tensor *t = import(&p);
    CHECK(tfr_tensor_data(t) == NULL);
    tfr_tensor_release(t);
    CHECK_INT(1, n_deleted);
    p.dl_tensor.data = numbers;
    p.dl_tensor.byte_offset = 1;
    t = import(&p);
    DLManagedTensorVersioned *m = export(t, 0);
    CHECK(m->dl_tensor.data == NULL);
    m->deleter(m);
    tfr_tensor_release(t);
}

TEST(pinned_memory_is_the_hosts_and_the_number_of_its_device_does_not_matter)
{
    static const int32_t types[] = {3, 11};
    for (int i = 0; i < 2; i++) {
        DLManagedTensorVersioned p = producer();
        p.dl_tensor.device = (DLDevice){types[i], 5};
        tfr_tensor_release(import(&p));
        CHECK_INT(1, n_deleted);
    }
}

TEST(a_later_minor_version_is_read)
{
    DLManagedTensorVersioned p = producer();
    p.version.minor = 99;
    p.flags = (uint64_t)1 << 40 | IS_COPIED;
    tfr_tensor *t = import(&p);
    CHECK(!tfr_tensor_is_read_only(t));
    tfr_tensor_release(t);
}

TEST(of_another_major_version_only_the_version_is_read)
{
    void *version = malloc(sizeof(DLPackVersion)); /* what is behind is not there */
    DLManagedTensorVersioned *p = version;
    REQUIRE(p != NULL);
    memcpy(p, (uint32_t[]){2, 5}, sizeof(DLPackVersion));
    n_deleted = 0;
    check_refused(p, TFR_EUNSUPPORTED, "version 2.5, not 1.x; ask its producer");
    memcpy(p, (uint32_t[]){0, 8}, sizeof(DLPackVersion));
    check_refused(p, TFR_EUNSUPPORTED, "version 0.8, not 1.x");
    free(p);
}

TEST(the_memory_of_a_device_is_refused_by_its_name)
{
    DLManagedTensorVersioned p = producer();
    p.dl_tensor.device = (DLDevice){2, 3};
    check_refused(&p, TFR_EUNSUPPORTED, "device 3 of type 2 (CUDA)");
    CHECK_CONTAINS("copy it to the CPU first", err.text);
    p.dl_tensor.device.device_type = 13;
    check_refused(&p, TFR_EUNSUPPORTED, "type 13 (CUDAManaged)");
    p.dl_tensor.device.device_type = 18;
    check_refused(&p, TFR_EUNSUPPORTED, "type 18 (Trn)");
    static const int32_t strange[] = {-1, 0, 5, 6, 19, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        p.dl_tensor.device.device_type = strange[i];
        check_refused(&p, TFR_EUNSUPPORTED, "(unknown)");
    }
}

TEST(types_that_tfrun_has_not_are_refused_with_their_numbers)
{
    static const DLDataType bad[] = {
        {2, 32, 4}, {2, 32, 0}, {2, 8, 1},  {2, 128, 1},   {3, 64, 1}, {0, 1, 1},  {0, 128, 1},
        {6, 1, 1},  {4, 32, 1}, {7, 8, 1},  {8, 8, 1},     {9, 8, 1},  {15, 6, 1}, {16, 6, 1},
        {17, 8, 1}, {10, 4, 1}, {18, 8, 1}, {255, 128, 1}, {0, 0, 1},  {5, 32, 1}, {2, 0, 65535},
    };
    DLManagedTensorVersioned p = producer();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        p.dl_tensor.dtype = bad[i];
        check_refused(&p, TFR_EDTYPE, "is none of tfrun's");
    }
    p.dl_tensor.dtype = bad[0];
    check_refused(&p, TFR_EDTYPE, "type 2 of 32 bits, 4 lanes");
}

TEST(packed_types_come_packed_and_plain_only)
{
    DLManagedTensorVersioned p = producer();
    p.dl_tensor.dtype = (DLDataType){1, 4, 1};
    tfr_tensor *t = import(&p);
    CHECK_INT(TFR_DTYPE_U4, tfr_tensor_dtype(t));
    CHECK_UINT(3, tfr_tensor_bytes(t));
    tfr_tensor_release(t);
    p = producer();
    p.dl_tensor.dtype = (DLDataType){1, 4, 1};
    p.flags = PADDED;
    check_refused(&p, TFR_EDTYPE, "type 1 of 4 bits in a byte each");
    p.flags = 0;
    strides[1] = 2;
    check_refused(&p, TFR_EUNSUPPORTED, "uint4 is packed");
    p = producer();
    p.flags = PADDED; /* which says nothing of whole bytes */
    tfr_tensor_release(import(&p));
}

TEST(hostile_sizes_are_refused)
{
    DLManagedTensorVersioned p = producer();
    p.dl_tensor.ndim = -1;
    check_refused(&p, TFR_ESHAPE, "rank -1");
    p.dl_tensor.ndim = TFR_MAX_RANK + 1;
    check_refused(&p, TFR_ESHAPE, "rank 17");
    p = producer();
    p.dl_tensor.shape = NULL;
    check_refused(&p, TFR_EINVAL, "no dims");
    p = producer();
    dims[1] = -3;
    check_refused(&p, TFR_ESHAPE, "is negative");
    dims[1] = INT64_MAX;
    check_refused(&p, TFR_ESHAPE, "2^63 - 1 elements");
    dims[1] = INT64_MAX / 16;
    check_refused(&p, TFR_ESHAPE, "more memory than can be addressed");
}

TEST(hostile_memory_is_refused)
{
    DLManagedTensorVersioned p = producer();
    p.dl_tensor.data = NULL;
    check_refused(&p, TFR_EINVAL, "no memory given");
    p.dl_tensor.byte_offset = 64;
    check_refused(&p, TFR_EINVAL, "no memory given");
    p = producer();
    p.dl_tensor.byte_offset = UINT64_MAX;
    check_refused(&p, TFR_EINVAL, "byte_offset 18446744073709551615");
    p = producer();
    strides[0] = INT64_MAX / 4;
    check_refused(&p, TFR_ESHAPE, "reach 2^63 bytes");
    strides[0] = INT64_MIN;
    check_refused(&p, TFR_ESHAPE, "reach 2^63 bytes");
}

/* ---- read-only and unaligned ----------------------------------------------------------------- */

TEST(read_only_stays_read_only_in_and_out_and_in_views)
{
    DLManagedTensorVersioned p = producer(), *m;
    p.flags = READ_ONLY;
    tfr_tensor *t = import(&p), *view = NULL, *copy = NULL;
    CHECK(tfr_tensor_data(t) == numbers);
    CHECK(tfr_tensor_is_read_only(t));
    REQUIRE_OK(tfr_tensor_view(t, 0, &(tfr_shape){1, {2}}, NULL, &view, &err), &err);
    CHECK(tfr_tensor_is_read_only(view));
    REQUIRE_OK(tfr_tensor_copy(t, &copy, &err), &err);
    CHECK(!tfr_tensor_is_read_only(copy));
    m = export(view, 0);
    CHECK_UINT(READ_ONLY, m->flags);
    m->deleter(m);
    m = export(copy, 0);
    CHECK_UINT(0, m->flags);
    m->deleter(m);
    m = export(copy, TFR_DLPACK_READ_ONLY | TFR_DLPACK_COPY);
    CHECK_UINT(READ_ONLY | IS_COPIED, m->flags);
    m->deleter(m);
    CHECK(!tfr_tensor_is_read_only(copy));
    tfr_tensor_release(copy);
    tfr_tensor_release(view);
    tfr_tensor_release(t);
    CHECK_INT(1, n_deleted);
}

TEST(a_constant_of_a_graph_goes_out_read_only)
{
    tfr_graph *graph = NULL;
    tfr_value value;
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 1, (int64_t[]){2});
    tfr_tensor *initial = new_tensor(TFR_DTYPE_F32, 1, (int64_t[]){2});
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &value, &err), &err);
    REQUIRE_OK(tfr_graph_add_variable(graph, "v", initial, &value, &err), &err);
    DLManagedTensorVersioned *m = export(t, 0);
    CHECK_UINT(READ_ONLY, m->flags);
    CHECK(!tfr_tensor_is_read_only(initial));
    tfr_graph_release(graph);
    tfr_tensor_release(initial);
    tfr_tensor_release(t);
    m->deleter(m);
}

TEST(unaligned_memory_is_read_from_an_aligned_copy)
{
    static const float expected[2] = {1, 2};
    DLManagedTensorVersioned p = producer(), *m;
    memcpy((char *)numbers + 1, expected, sizeof expected);
    dims[0] = 1;
    dims[1] = 2;
    p.dl_tensor.byte_offset = 1;
    tfr_tensor *t = import(&p);
    CHECK(tfr_tensor_is_read_only(t));
    CHECK_MEM(expected, tfr_tensor_data(t), sizeof expected);
    CHECK_UINT(0, (uintptr_t)tfr_tensor_data(t) % sizeof(float));
    m = export(t, 0);
    CHECK_UINT(READ_ONLY, m->flags);
    CHECK(m->dl_tensor.data == tfr_tensor_data(t));
    m->deleter(m);
    tfr_tensor_release(t);
    CHECK_INT(1, n_deleted);
}

TEST(unaligned_memory_with_strides_is_refused)
{
    DLManagedTensorVersioned p = producer();
    strides[1] = 2;
    p.dl_tensor.byte_offset = 1;
    check_refused(&p, TFR_EINVAL, "not aligned to the 4 bytes of float32");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static tfr_tensor *unaligned;

static tfr_status import_it(DLManagedTensorVersioned *p)
{
    tfr_tensor *t = NULL;
    tfr_status status = tfr_tensor_from_dlpack(p, &t, &err);
    CHECK(!status == (t != NULL));
    tfr_tensor_release(t);
    return status;
}

static tfr_status export_it(DLManagedTensorVersioned *p)
{
    DLManagedTensorVersioned *m = NULL;
    tfr_status status = tfr_tensor_to_dlpack(unaligned, 0, &m, &err);
    (void)p;
    CHECK(!status == (m != NULL));
    if (m)
        m->deleter(m);
    return status;
}

static tfr_status export_copy(DLManagedTensorVersioned *p)
{
    DLManagedTensorVersioned *m = NULL;
    tfr_status status = tfr_tensor_to_dlpack(unaligned, TFR_DLPACK_COPY, &m, &err);
    (void)p;
    CHECK(!status == (m != NULL));
    if (m)
        m->deleter(m);
    return status;
}

/* n_requests: what call asks for when nothing fails. Each of them fails once. */
static void check_every_failure(tfr_status (*call)(DLManagedTensorVersioned *p), int n_requests)
{
    int n = 0;
    tfr_status status = TFR_ENOMEM;
    while (status && n < 20) {
        static const char bytes[9];
        const uint64_t live = tfr__alloc_live();
        DLManagedTensorVersioned p = producer();
        REQUIRE_OK(tfr_tensor_wrap_bytes(TFR_DTYPE_F32, &(tfr_shape){1, {2}}, bytes + 1, NULL, NULL,
                                         NULL, &unaligned, &err),
                   &err);
        tfr__alloc_fail_at((uint64_t)++n);
        status = call(&p);
        tfr__alloc_fail_at(0);
        if (status) {
            CHECK_STATUS(TFR_ENOMEM, status, &err);
            CHECK_CONTAINS("no memory for", err.text);
            CHECK_INT(0, n_deleted);
        }
        tfr_tensor_release(unaligned);
        CHECK_UINT(live, tfr__alloc_live());
    }
    CHECK_INT(n_requests, n - 1);
}

TEST(every_failed_request_is_a_status_and_no_leak_and_deletes_nothing)
{
    check_every_failure(import_it, 1);
    check_every_failure(export_it, 2);
    check_every_failure(export_copy, 3);
}

static const test_case cases[] = {
    CASE(an_export_is_the_tensors_own_memory),
    CASE(every_type_but_strings_goes_out_and_comes_back),
    CASE(strings_and_sequences_are_refused_with_what_to_do),
    CASE(missing_arguments_and_unknown_flags_are_refused),
    CASE(an_export_of_a_view_has_its_strides_and_may_outlive_all_others),
    CASE(what_a_taker_writes_into_the_sizes_is_not_the_tensors),
    CASE(a_copy_is_the_takers_own_and_says_so),
    CASE(no_elements_go_out_without_memory_and_come_back),
    CASE(a_deleter_runs_on_any_thread),
    CASE(an_import_is_the_producers_memory_until_the_last_reference_goes),
    CASE(a_producer_without_a_deleter_is_fine),
    CASE(strides_may_be_absent_and_the_offset_is_in_bytes),
    CASE(strides_are_in_elements_and_may_be_zero_or_negative),
    CASE(a_scalar_needs_neither_sizes_nor_strides),
    CASE(no_elements_need_no_memory_whatever_the_offset),
    CASE(pinned_memory_is_the_hosts_and_the_number_of_its_device_does_not_matter),
    CASE(a_later_minor_version_is_read),
    CASE(of_another_major_version_only_the_version_is_read),
    CASE(the_memory_of_a_device_is_refused_by_its_name),
    CASE(types_that_tfrun_has_not_are_refused_with_their_numbers),
    CASE(packed_types_come_packed_and_plain_only),
    CASE(hostile_sizes_are_refused),
    CASE(hostile_memory_is_refused),
    CASE(read_only_stays_read_only_in_and_out_and_in_views),
    CASE(a_constant_of_a_graph_goes_out_read_only),
    CASE(unaligned_memory_is_read_from_an_aligned_copy),
    CASE(unaligned_memory_with_strides_is_refused),
    CASE(every_failed_request_is_a_status_and_no_leak_and_deletes_nothing),
};
TEST_MAIN(cases)
