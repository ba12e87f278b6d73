/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c: names and kinds of element types. Conversion is in convert.c. */
#include <tfrun/dtype.h>
#include <string.h>

#include "value/bits.h"
#include "value/smallfloat.h"

const char *tfr_dtype_name(tfr_dtype dtype)
{
    switch ((int)dtype) {
    case TFR_DTYPE_NONE:
        return "none";
#define DTYPE_NAME(name, number, bits, text)                                                       \
    case number:                                                                                   \
        return text;
        TFR_DTYPE_LIST(DTYPE_NAME)
#undef DTYPE_NAME
    }
    return "unknown";
}

uint32_t tfr__dtype_bits(int32_t dtype)
{
    return tfr_dtype_bits(dtype);
}

typedef struct dtype_alias {
    char name[15];
    uint8_t dtype; /* tfr_dtype */
} dtype_alias;

/* Official names first; then this project's short ones, C's and NumPy's. */
static const dtype_alias aliases[] = {
#define DTYPE_ALIAS(name, number, bits, text) {text, TFR_DTYPE_##name},
    TFR_DTYPE_LIST(DTYPE_ALIAS)
#undef DTYPE_ALIAS
        {"bf16", TFR_DTYPE_BF16},
    {"boolean", TFR_DTYPE_BOOL},
    {"c128", TFR_DTYPE_C128},
    {"c64", TFR_DTYPE_C64},
    {"double", TFR_DTYPE_F64},
    {"e4m3fn", TFR_DTYPE_F8E4M3FN},
    {"e4m3fnuz", TFR_DTYPE_F8E4M3FNUZ},
    {"e5m2", TFR_DTYPE_F8E5M2},
    {"e5m2fnuz", TFR_DTYPE_F8E5M2FNUZ},
    {"e8m0", TFR_DTYPE_F8E8M0},
    {"f16", TFR_DTYPE_F16},
    {"f32", TFR_DTYPE_F32},
    {"f4e2m1", TFR_DTYPE_F4E2M1},
    {"f64", TFR_DTYPE_F64},
    {"f8e4m3fn", TFR_DTYPE_F8E4M3FN},
    {"f8e4m3fnuz", TFR_DTYPE_F8E4M3FNUZ},
    {"f8e5m2", TFR_DTYPE_F8E5M2},
    {"f8e5m2fnuz", TFR_DTYPE_F8E5M2FNUZ},
    {"f8e8m0", TFR_DTYPE_F8E8M0},
    {"float", TFR_DTYPE_F32},
    {"half", TFR_DTYPE_F16},
    {"i16", TFR_DTYPE_I16},
    {"i2", TFR_DTYPE_I2},
    {"i32", TFR_DTYPE_I32},
    {"i4", TFR_DTYPE_I4},
    {"i64", TFR_DTYPE_I64},
    {"i8", TFR_DTYPE_I8},
    {"u16", TFR_DTYPE_U16},
    {"u2", TFR_DTYPE_U2},
    {"u32", TFR_DTYPE_U32},
    {"u4", TFR_DTYPE_U4},
    {"u64", TFR_DTYPE_U64},
    {"u8", TFR_DTYPE_U8},
};

tfr_dtype tfr_dtype_parse(const char *name)
{
    for (size_t i = 0; name && i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(name, aliases[i].name) == 0)
            return (tfr_dtype)aliases[i].dtype;
    return TFR_DTYPE_NONE;
}

bool tfr_dtype_is_float(tfr_dtype dtype)
{
    return dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F64 || dtype == TFR_DTYPE_F8E8M0 ||
           tfr__small_float_of(dtype);
}

bool tfr_dtype_is_integer(tfr_dtype dtype)
{
    switch ((int)dtype) {
    case TFR_DTYPE_U2:
    case TFR_DTYPE_I2:
    case TFR_DTYPE_U4:
    case TFR_DTYPE_I4:
    case TFR_DTYPE_U8:
    case TFR_DTYPE_I8:
    case TFR_DTYPE_U16:
    case TFR_DTYPE_I16:
    case TFR_DTYPE_U32:
    case TFR_DTYPE_I32:
    case TFR_DTYPE_U64:
    case TFR_DTYPE_I64:
        return true;
    default:
        return false;
    }
}
