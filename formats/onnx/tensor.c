/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.c: TensorProto to tfr_tensor. A message is read twice: first its facts (type, dims,
 * how many numbers each field has), then, when those agree, its elements. ONNX's numbers are little
 * endian, and so are the machines that this file is for.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/tensor.h"
#include "prefix.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the tensor readers need a little-endian machine"
#endif

/* Smaller tensors are copied: a mapping that stays for a scalar is a bad bargain. */
enum { WRAP_BYTES_MIN = 4096, LOOSE_BYTES_MIN = 256 * 1024, ALIGN = 64 };

/* What a TensorProto says, before its elements are looked at. */
typedef struct facts {
    tfr_dtype dtype;
    tfr_shape shape;
    int64_t elements;
    size_t bytes;
    tfr__text name;
    bool has_raw, is_external;
    size_t raw_offset; /* of the field, for messages */
    tfr__text raw;
    size_t counts[TFR__TENSOR_END]; /* numbers or strings in each typed field */
    bool has_location, has_length;
    tfr__text location;
    uint64_t external_offset, external_length;
} facts;

tfr__text tfr__onnx_tensor_name(tfr__wire wire)
{
    tfr__wire_field field;
    tfr__text name = {"", 0};
    while (tfr__wire_next(&wire, &field, NULL) == TFR_OK && field.number)
        if (field.number == TFR__TENSOR_NAME)
            name = field.text;
    return name;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* A decimal number without sign, as external_data has them. */
static bool parse_decimal(tfr__text text, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned digit = (unsigned)(text.data[i] - '0');
        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return text.bytes > 0;
}

static tfr_status read_entry(const tfr__wire *tensor, const tfr__wire_field *entry, facts *f,
                             tfr_err *err)
{
    tfr__wire wire;
    tfr__wire_field field;
    tfr__text key = {"", 0}, value = {"", 0};
    bool good = true;
    tfr_status status = tfr__wire_enter(tensor, entry, &tfr__onnx_entry_message, &wire, err);

    while (!status && !(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (field.number == TFR__ENTRY_KEY)
            key = field.text;
        else if (field.number == TFR__ENTRY_VALUE)
            value = field.text;
    }
    if (status)
        return status;
    if (tfr__text_equal(key, "location")) {
        f->location = value;
        f->has_location = true;
    } else if (tfr__text_equal(key, "offset")) {
        good = parse_decimal(value, &f->external_offset);
    } else if (tfr__text_equal(key, "length")) {
        good = f->has_length = parse_decimal(value, &f->external_length);
    }
    if (!good) {
        char quoted[TFR__QUOTE_BYTES];
        return tfr_fail(err, TFR_EMODEL,
                        "byte %zu: external data: %s %s is not a number from 0 to 2^63-1",
                        entry->offset, key.data[0] == 'o' ? "offset" : "length",
                        tfr__text_quote(value, quoted, sizeof quoted));
    }
    return TFR_OK;
}

static tfr_status read_dims(const tfr__wire *wire, tfr__wire_field *field, tfr_shape *shape,
                            tfr_err *err)
{
    for (;;) {
        uint64_t value;
        bool more;
        tfr_status status = tfr__wire_take(wire, field, &value, &more, err);
        if (status || !more)
            return status;
        if (shape->rank == TFR_MAX_RANK)
            return tfr_fail(err, TFR_EMODEL, "byte %zu: %s.dims has more than %d dims",
                            field->offset, wire->message->name, TFR_MAX_RANK);
        if ((int64_t)value < 0)
            return tfr_fail(err, TFR_EMODEL, "byte %zu: %s.dims has the negative dim %lld",
                            field->offset, wire->message->name, (long long)value);
        shape->dims[shape->rank++] = (int64_t)value;
    }
}

static tfr_status count_field(const tfr__wire *wire, tfr__wire_field *field, facts *f, tfr_err *err)
{
    size_t n = 1;
    if (field->number != TFR__TENSOR_STRING_DATA) {
        tfr_status status = tfr__wire_count(wire, field, &n, err);
        if (status)
            return status;
    }
    f->counts[field->number] += n;
    return TFR_OK;
}

static tfr_status read_field(const tfr__wire *wire, tfr__wire_field *field, facts *f, tfr_err *err)
{
    switch (field->number) {
    case TFR__TENSOR_DIMS:
        return read_dims(wire, field, &f->shape, err);
    case TFR__TENSOR_DATA_TYPE:
        if (field->value >= TFR_DTYPE_END || !tfr_dtype_bits((int32_t)field->value))
            return tfr_fail(err, TFR_EMODEL,
                            "byte %zu: TensorProto.data_type %llu is not a known type, those are "
                            "1 to %d",
                            field->offset, (unsigned long long)field->value, TFR_DTYPE_END - 1);
        f->dtype = (tfr_dtype)field->value;
        return TFR_OK;
    case TFR__TENSOR_SEGMENT:
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "byte %zu: TensorProto.segment, a tensor in several parts, is not read",
                        field->offset);
    case TFR__TENSOR_NAME:
        f->name = field->text;
        return TFR_OK;
    case TFR__TENSOR_RAW_DATA:
        f->raw = field->text;
        f->has_raw = true;
        f->raw_offset = field->offset;
        return TFR_OK;
    case TFR__TENSOR_EXTERNAL_DATA:
        return read_entry(wire, field, f, err);
    case TFR__TENSOR_DATA_LOCATION:
        if (field->value > 1)
            return tfr_fail(err, TFR_EMODEL,
                            "byte %zu: TensorProto.data_location %llu is neither 0 (in the file) "
                            "nor 1 (external)",
                            field->offset, (unsigned long long)field->value);
        f->is_external = field->value == 1;
        return TFR_OK;
    case TFR__TENSOR_FLOAT_DATA:
    case TFR__TENSOR_INT32_DATA:
    case TFR__TENSOR_STRING_DATA:
    case TFR__TENSOR_INT64_DATA:
    case TFR__TENSOR_DOUBLE_DATA:
    case TFR__TENSOR_UINT64_DATA:
        return count_field(wire, field, f, err);
    default:
        return TFR_OK;
    }
}

static tfr_status read_facts(tfr__wire wire, facts *f, tfr_err *err)
{
    tfr__wire_field field;
    tfr_status status;

    memset(f, 0, sizeof *f);
    f->name.data = "";
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number)
        if ((status = read_field(&wire, &field, f, err)))
            break;
    if (status)
        return status;
    if (f->dtype == TFR_DTYPE_NONE)
        return tfr_fail(err, TFR_EMODEL, "TensorProto.data_type is missing");
    if ((status = tfr_shape_elements(&f->shape, &f->elements, err)) ||
        (status = tfr_shape_bytes(&f->shape, f->dtype, &f->bytes, err)))
        return tfr__prefix(err, tfr__model_status(err, status), "TensorProto.dims: ");
    return TFR_OK;
}

/* ---- agreement of facts ---------------------------------------------------------------------- */

/* The typed field that holds elements of dtype. */
static uint32_t typed_field(tfr_dtype dtype)
{
    switch (dtype) {
    case TFR_DTYPE_F32:
    case TFR_DTYPE_C64:
        return TFR__TENSOR_FLOAT_DATA;
    case TFR_DTYPE_F64:
    case TFR_DTYPE_C128:
        return TFR__TENSOR_DOUBLE_DATA;
    case TFR_DTYPE_I64:
        return TFR__TENSOR_INT64_DATA;
    case TFR_DTYPE_U32:
    case TFR_DTYPE_U64:
        return TFR__TENSOR_UINT64_DATA;
    case TFR_DTYPE_STRING:
        return TFR__TENSOR_STRING_DATA;
    default:
        return TFR__TENSOR_INT32_DATA;
    }
}

/* Numbers in the typed field: types under 8 bits share bytes, a complex number has two. */
static uint64_t typed_count(const facts *f)
{
    if (f->dtype == TFR_DTYPE_C64 || f->dtype == TFR_DTYPE_C128)
        return 2 * (uint64_t)f->elements;
    return tfr_dtype_bits(f->dtype) < 8 ? f->bytes : (uint64_t)f->elements;
}

static const char *describe(const facts *f, char *out, size_t n)
{
    char shape[128];
    snprintf(out, n, "%s%s", tfr_dtype_name(f->dtype),
             tfr_shape_format(&f->shape, shape, sizeof shape));
    return out;
}

/* Do the bytes or numbers that are there make exactly the elements that dims claim? */
static tfr_status check_sizes(const facts *f, tfr_err *err)
{
    char what[160];
    uint32_t mine = typed_field(f->dtype);

    for (uint32_t i = 0; i < TFR__TENSOR_END; i++) {
        const char *name = tfr__onnx_tensor_message.fields[i].name;
        if (!f->counts[i])
            continue;
        if (f->has_raw && f->raw.bytes)
            return tfr_fail(err, TFR_EMODEL,
                            "TensorProto has elements in raw_data and in %s, one of them must do",
                            name);
        if (i != mine)
            return tfr_fail(err, TFR_EMODEL,
                            "TensorProto.%s has %zu elements, but those of type %s belong into %s",
                            name, f->counts[i], tfr_dtype_name(f->dtype),
                            tfr__onnx_tensor_message.fields[mine].name);
    }
    if (f->has_raw && f->dtype == TFR_DTYPE_STRING)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: TensorProto.raw_data cannot hold strings",
                        f->raw_offset);
    if (f->has_raw && !f->counts[mine]) {
        if (f->raw.bytes != f->bytes)
            return tfr_fail(err, TFR_EMODEL,
                            "byte %zu: TensorProto.raw_data has %zu bytes, %s needs %zu",
                            f->raw_offset, f->raw.bytes, describe(f, what, sizeof what), f->bytes);
    } else if (f->counts[mine] != typed_count(f)) {
        return tfr_fail(err, TFR_EMODEL, "TensorProto.%s has %zu elements, %s needs %llu",
                        tfr__onnx_tensor_message.fields[mine].name, f->counts[mine],
                        describe(f, what, sizeof what), (unsigned long long)typed_count(f));
    }
    return TFR_OK;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* The values that int32_data may have for a type: of bit patterns, signed and unsigned ones. */
static void int32_range(tfr_dtype dtype, int32_t *least, int32_t *most)
{
    *least = 0;
    *most = UINT8_MAX;
    if (dtype == TFR_DTYPE_I32) {
        *least = INT32_MIN;
        *most = INT32_MAX;
    } else if (dtype == TFR_DTYPE_I8) {
        *least = INT8_MIN;
        *most = INT8_MAX;
    } else if (dtype == TFR_DTYPE_I16) {
        *least = INT16_MIN;
        *most = INT16_MAX;
    } else if (dtype == TFR_DTYPE_U16) {
        *most = UINT16_MAX;
    } else if (dtype == TFR_DTYPE_F16 || dtype == TFR_DTYPE_BF16) {
        *least = INT16_MIN;
        *most = UINT16_MAX;
    } else if (dtype == TFR_DTYPE_BOOL) {
        *most = 1;
    } else if (dtype != TFR_DTYPE_U8) {
        *least = INT8_MIN;
    }
}

static tfr_status store_int32(const tfr__wire *wire, const tfr__wire_field *field, tfr_dtype dtype,
                              uint64_t value, void *data, size_t i, tfr_err *err)
{
    int32_t least, most, v = (int32_t)(uint32_t)value; /* as protobuf reads an int32 */
    unsigned bits = tfr_dtype_bits(dtype);

    int32_range(dtype, &least, &most);
    if (v < least || v > most)
        return tfr_fail(err, TFR_EMODEL,
                        "byte %zu: TensorProto.int32_data has %d as element %zu, %s holds %d to "
                        "%d",
                        field->offset, v, i, tfr_dtype_name(dtype), least, most);
    if (bits == 32)
        ((int32_t *)data)[i] = v;
    else if (bits == 16)
        ((uint16_t *)data)[i] = (uint16_t)v;
    else
        ((uint8_t *)data)[i] = (uint8_t)v;
    (void)wire;
    return TFR_OK;
}

static tfr_status store(const tfr__wire *wire, const tfr__wire_field *field, tfr_dtype dtype,
                        uint64_t value, void *data, size_t i, tfr_err *err)
{
    switch (field->number) {
    case TFR__TENSOR_FLOAT_DATA:
        ((uint32_t *)data)[i] = (uint32_t)value;
        return TFR_OK;
    case TFR__TENSOR_INT32_DATA:
        return store_int32(wire, field, dtype, value, data, i, err);
    case TFR__TENSOR_UINT64_DATA:
        if (dtype == TFR_DTYPE_U32) {
            if (value > UINT32_MAX)
                return tfr_fail(err, TFR_EMODEL,
                                "byte %zu: TensorProto.uint64_data has %llu as element %zu, which "
                                "uint32 cannot hold",
                                field->offset, (unsigned long long)value, i);
            ((uint32_t *)data)[i] = (uint32_t)value;
            return TFR_OK;
        }
        break;
    default:
        break;
    }
    ((uint64_t *)data)[i] = value;
    return TFR_OK;
}

/* The second reading. check_sizes has made sure that all numbers have room. */
static tfr_status read_elements(tfr__wire wire, const facts *f, tfr_tensor *tensor, tfr_err *err)
{
    uint32_t mine = typed_field(f->dtype);
    uint64_t value;
    size_t i = 0;
    bool more;
    tfr__wire_field field;
    tfr_status status;

    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (field.number != mine)
            continue;
        if (mine == TFR__TENSOR_STRING_DATA) {
            status =
                tfr_tensor_set_string(tensor, (int64_t)i++, field.text.data, field.text.bytes, err);
            if (status)
                return status;
            continue;
        }
        if (field.run && (mine == TFR__TENSOR_FLOAT_DATA || mine == TFR__TENSOR_DOUBLE_DATA)) {
            size_t width = mine == TFR__TENSOR_FLOAT_DATA ? 4 : 8;
            if (field.text.bytes)
                memcpy((char *)tfr_tensor_data(tensor) + i * width, field.text.data,
                       field.text.bytes);
            i += field.text.bytes / width;
            continue;
        }
        while (!(status = tfr__wire_take(&wire, &field, &value, &more, err)) && more)
            if ((status = store(&wire, &field, f->dtype, value, tfr_tensor_data(tensor), i++, err)))
                break;
        if (status)
            return status;
    }
    return status;
}

/* A byte other than 0 and 1 would make kernels disagree about what is true. */
static tfr_status check_bools(const facts *f, tfr__text bytes, tfr_err *err)
{
    if (f->dtype != TFR_DTYPE_BOOL)
        return TFR_OK;
    for (size_t i = 0; i < bytes.bytes; i++)
        if ((unsigned char)bytes.data[i] > 1)
            return tfr_fail(err, TFR_EMODEL, "element %zu of type bool is %u, neither 0 nor 1", i,
                            (unsigned)(unsigned char)bytes.data[i]);
    return TFR_OK;
}

/* A copy; tfr_tensor_create would write zeros first, which takes as long as copying. */
static tfr_status copy_bytes(const facts *f, const tfr__mapping *mapping, tfr__text bytes,
                             tfr_tensor **out, tfr_err *err)
{
    void *data = aligned_alloc(ALIGN, (bytes.bytes + ALIGN) / ALIGN * ALIGN);
    tfr_status status;

    if (!data)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a tensor of %zu bytes", bytes.bytes);
    tfr__mapping_copy(mapping, data, bytes.data, bytes.bytes);
    status = tfr_tensor_wrap(f->dtype, &f->shape, NULL, data, free, data, out, err);
    if (status)
        free(data);
    return status;
}

/* Most weights of a model: backends pack them from where they lie. */
static bool is_weight(const facts *f)
{
    return f->bytes >= LOOSE_BYTES_MIN && (f->dtype == TFR_DTYPE_F32 || f->dtype == TFR_DTYPE_F16 ||
                                           f->dtype == TFR_DTYPE_BF16 || f->dtype == TFR_DTYPE_F64);
}

/* A tensor over bytes of a mapping, or a copy of them. */
static tfr_status from_bytes(const tfr__onnx_source *source, const facts *f, tfr__mapping *mapping,
                             tfr__text bytes, tfr_tensor **out, tfr_err *err)
{
    size_t align = tfr_dtype_bits(f->dtype) < 16 ? 1 : tfr_dtype_bits(f->dtype) / 8;
    tfr_status status = check_bools(f, bytes, err);

    if (status)
        return status;
    if (align > 8)
        align = 8;
    if (mapping && source->unaligned && is_weight(f)) {
        status =
            tfr_tensor_wrap_bytes(f->dtype, &f->shape, bytes.data, tfr__mapping_rest,
                                  tfr__mapping_release, tfr__mapping_retain(mapping), out, err);
        if (status)
            tfr__mapping_release(mapping);
        return status;
    }
    if (!mapping || bytes.bytes < WRAP_BYTES_MIN || (uintptr_t)bytes.data % align)
        return copy_bytes(f, mapping, bytes, out, err);
    /* The mapping is private, so that the cast lets nobody change the file. */
    status = tfr_tensor_wrap(f->dtype, &f->shape, NULL, (void *)(uintptr_t)bytes.data,
                             tfr__mapping_release, tfr__mapping_retain(mapping), out, err);
    if (status)
        tfr__mapping_release(mapping);
    return status;
}

static tfr_status from_external(tfr__onnx_source *source, const facts *f, tfr_tensor **out,
                                tfr_err *err)
{
    tfr__mapping *mapping;
    tfr__text bytes;
    tfr__external none = {.fd = -1};
    tfr_status status;

    if (!f->has_location)
        return tfr_fail(err, TFR_EMODEL, "TensorProto.external_data has no location");
    if (f->dtype == TFR_DTYPE_STRING)
        return tfr_fail(err, TFR_EMODEL, "TensorProto.external_data cannot hold strings");
    status = tfr__external_bytes(source->external ? source->external : &none, f->location,
                                 f->external_offset, f->has_length, f->external_length, f->bytes,
                                 &mapping, &bytes, err);
    return status ? status : from_bytes(source, f, mapping, bytes, out, err);
}

tfr_status tfr__onnx_read_tensor(tfr__onnx_source *source, tfr__wire wire, tfr__text *name,
                                 tfr_tensor **out, tfr_err *err)
{
    facts f;
    tfr_tensor *tensor = NULL;
    tfr_status status = read_facts(wire, &f, err);

    if (name)
        *name = f.name;
    if (status)
        return status;
    if (f.is_external)
        return tfr__model_status(err, from_external(source, &f, out, err));
    status = check_sizes(&f, err);
    if (status)
        return status;
    if (f.has_raw && !f.counts[typed_field(f.dtype)])
        return tfr__model_status(err, from_bytes(source, &f, source->mapping, f.raw, out, err));
    status = tfr_tensor_create(f.dtype, &f.shape, &tensor, err);
    if (!status)
        status = read_elements(wire, &f, tensor, err);
    if (status) {
        tfr_tensor_release(tensor);
        return tfr__model_status(err, status);
    }
    *out = tensor;
    return TFR_OK;
}
