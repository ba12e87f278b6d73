/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of the probe child: what is written is read back, and nothing else is believed. */
#include "tfr_test.h"

#include "alloc.h"
#include "loader.h"

static void *make_reply(size_t *bytes)
{
    tfr__reply_claim claims[] = {{"", "Relu", 14, 2, 4, 7}, {"tfrun", "Inverse", 1, 0, 0, 0}};
    tfr__reply_device device = {
        .info = {.size = sizeof device.info,
                 .ordinal = 3,
                 .type = "NPU",
                 .identity = "pci:0000:3b:00.0",
                 .name = "Acme One",
                 .driver = "1.2",
                 .properties = "a=1\nb=2",
                 .memory_total = 1ull << 40,
                 .memory_free = 5,
                 .clock_khz = 100,
                 .numa_node = -1,
                 .unusable = 0},
        .claims = claims,
        .n_claims = 2,
    };
    tfr__reply reply = {
        .abi_minor = 2,
        .text = "fine",
        .name = "acme",
        .version = "1\0332",
        .vendor = NULL,
        .build_info = "x=y\nz=t",
        .devices = &device,
        .n_devices = 1,
    };
    return tfr__reply_write(&reply, bytes);
}

TEST(what_is_written_is_read_back_without_control_bytes)
{
    size_t n;
    char *bytes = make_reply(&n);
    tfr__keep keep = {0};
    tfr__reply reply;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE(bytes != NULL);
    CHECK_UINT(n, tfr__reply_bytes(bytes));
    REQUIRE_OK(tfr__reply_read(bytes, n, &keep, &reply, &err), &err);
    CHECK_STR("acme", reply.name);
    CHECK_STR("1?2", reply.version);
    CHECK_STR("", reply.vendor);
    CHECK_STR("x=y\nz=t", reply.build_info);
    REQUIRE_INT(1, (int)reply.n_devices);
    CHECK_STR("pci:0000:3b:00.0", reply.devices[0].info.identity);
    CHECK_UINT(1ull << 40, reply.devices[0].info.memory_total);
    CHECK_INT(-1, reply.devices[0].info.numa_node);
    REQUIRE_INT(2, (int)reply.devices[0].n_claims);
    CHECK_STR("Inverse", reply.devices[0].claims[1].name);
    CHECK_UINT(7, reply.devices[0].claims[0].digest);
    CHECK_UINT(2, reply.devices[0].claims[0].dtypes);
    CHECK_UINT(4, reply.devices[0].claims[0].dtypes_if);
    tfr__keep_free(&keep);
    tfr__free(bytes);
}

TEST(a_shortened_answer_is_refused_at_every_length)
{
    size_t n, cut;
    char *bytes = make_reply(&n);
    REQUIRE(bytes != NULL);
    for (cut = 0; cut < n; cut++) {
        tfr__keep keep = {0};
        tfr__reply reply;
        tfr_err err = TFR_ERR_INIT;
        CHECK_STATUS(TFR_EPLUGIN, tfr__reply_read(bytes, cut, &keep, &reply, &err), &err);
        CHECK(err.text[0]);
        tfr__keep_free(&keep);
    }
    tfr__free(bytes);
}

/* The checksum is no secret: an answer may be wrong and have a right one. */
static void seal(char *bytes, size_t n)
{
    uint64_t sum =
        tfr__hash(TFR__HASH_SEED, bytes + TFR__REPLY_HEAD_BYTES, n - TFR__REPLY_HEAD_BYTES);
    memcpy(bytes + 16, &sum, sizeof sum);
}

TEST(an_answer_with_any_byte_changed_is_refused_or_read_without_harm)
{
    size_t n, at;
    char *bytes = make_reply(&n);
    REQUIRE(bytes != NULL);
    for (at = 0; at < n; at++)
        for (int change = 1; change < 256; change <<= 1) {
            tfr__keep keep = {0};
            tfr__reply reply;
            bytes[at] = (char)(bytes[at] ^ change);
            CHECK(tfr__reply_read(bytes, n, &keep, &reply, NULL) == TFR_EPLUGIN);
            seal(bytes, n);
            tfr_status status = tfr__reply_read(bytes, n, &keep, &reply, NULL);
            CHECK(status == TFR_EPLUGIN || status == TFR_OK);
            bytes[at] = (char)(bytes[at] ^ change);
            seal(bytes, n);
            tfr__keep_free(&keep);
        }
    tfr__free(bytes);
}

TEST(a_count_larger_than_the_answer_takes_no_memory)
{
    size_t n;
    char *bytes = make_reply(&n);
    uint32_t huge = TFR__REPLY_MAX_DEVICES, at;
    tfr__keep keep = {0};
    tfr__reply reply;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE(bytes != NULL);
    /* The count of devices stands after three numbers and five texts. */
    for (at = TFR__REPLY_HEAD_BYTES + 12; at + 8 < n; at++)
        if (memcmp(bytes + at, "z=t", 3) == 0)
            break;
    memcpy(bytes + at + 3, &huge, sizeof huge);
    seal(bytes, n);
    CHECK_STATUS(TFR_EPLUGIN, tfr__reply_read(bytes, n, &keep, &reply, &err), &err);
    CHECK_CONTAINS("a count is larger than possible", err.text);
    tfr__keep_free(&keep);
    tfr__free(bytes);
}

static const test_case cases[] = {
    CASE(what_is_written_is_read_back_without_control_bytes),
    CASE(a_shortened_answer_is_refused_at_every_length),
    CASE(an_answer_with_any_byte_changed_is_refused_or_read_without_harm),
    CASE(a_count_larger_than_the_answer_takes_no_memory),
};
TEST_MAIN(cases)
