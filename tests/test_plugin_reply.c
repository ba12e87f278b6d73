/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of the probe child: what is written is read back, and nothing else is believed. */
#include "base/hash.h"
#include "tfr_test.h"

#include "base/alloc.h"
#include "device/loader.h"

static void *make_reply(size_t *bytes)
{
    tfr__reply_claim claims[] = {
        {"", "Relu", {.dtypes = 2, .dtypes_if = 4, .digest = 7, .since_version = 14}},
        {"tfrun", "Inverse", {.since_version = 1}},
    };
    tfr__reply_device device = {
        .info = {.size = sizeof device.info,
                 .ordinal = 3,
                 .type = "NPU",
                 .identity = "pci:0000:3b:00.0",
                 .identities = "uuid:5d2c one:1",
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
    tfr__region region = {0};
    tfr__reply reply;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE(bytes != NULL);
    CHECK_UINT(n, tfr__reply_bytes(bytes));
    REQUIRE_OK(tfr__reply_read(bytes, n, &region, &reply, &err), &err);
    CHECK_STR("acme", reply.name);
    CHECK_STR("1?2", reply.version);
    CHECK_STR("", reply.vendor);
    CHECK_STR("x=y\nz=t", reply.build_info);
    REQUIRE_INT(1, (int)reply.n_devices);
    CHECK_STR("pci:0000:3b:00.0", reply.devices[0].info.identity);
    CHECK_STR("uuid:5d2c one:1", reply.devices[0].info.identities);
    CHECK_UINT(1ull << 40, reply.devices[0].info.memory_total);
    CHECK_INT(-1, reply.devices[0].info.numa_node);
    REQUIRE_INT(2, (int)reply.devices[0].n_claims);
    CHECK_STR("Inverse", reply.devices[0].claims[1].name);
    CHECK_UINT(7, reply.devices[0].claims[0].numbers.digest);
    CHECK_UINT(2, reply.devices[0].claims[0].numbers.dtypes);
    CHECK_UINT(4, reply.devices[0].claims[0].numbers.dtypes_if);
    tfr__region_free(&region);
    tfr__free(bytes);
}

TEST(a_shortened_answer_is_refused_at_every_length)
{
    size_t n, cut;
    char *bytes = make_reply(&n);
    REQUIRE(bytes != NULL);
    for (cut = 0; cut < n; cut++) {
        tfr__region region = {0};
        tfr__reply reply;
        tfr_err err = TFR_ERR_INIT;
        CHECK_STATUS(TFR_EPLUGIN, tfr__reply_read(bytes, cut, &region, &reply, &err), &err);
        CHECK(err.text[0]);
        tfr__region_free(&region);
    }
    tfr__free(bytes);
}

/* The checksum is no secret: an answer may be wrong and have a right one. */
static void seal(char *bytes, size_t n)
{
    uint64_t sum =
        tfr__hash_words(TFR__HASH_SEED, bytes + TFR__REPLY_HEAD_BYTES, n - TFR__REPLY_HEAD_BYTES);
    memcpy(bytes + 16, &sum, sizeof sum);
}

TEST(an_answer_with_any_byte_changed_is_refused_or_read_without_harm)
{
    size_t n, at;
    char *bytes = make_reply(&n);
    REQUIRE(bytes != NULL);
    for (at = 0; at < n; at++)
        for (int change = 1; change < 256; change <<= 1) {
            tfr__region region = {0};
            tfr__reply reply;
            bytes[at] = (char)(bytes[at] ^ change);
            CHECK(tfr__reply_read(bytes, n, &region, &reply, NULL) == TFR_EPLUGIN);
            seal(bytes, n);
            tfr_status status = tfr__reply_read(bytes, n, &region, &reply, NULL);
            CHECK(status == TFR_EPLUGIN || status == TFR_OK);
            bytes[at] = (char)(bytes[at] ^ change);
            seal(bytes, n);
            tfr__region_free(&region);
        }
    tfr__free(bytes);
}

TEST(a_count_larger_than_the_answer_takes_no_memory)
{
    size_t n;
    char *bytes = make_reply(&n);
    uint32_t huge = TFR__REPLY_MAX_DEVICES, at;
    tfr__region region = {0};
    tfr__reply reply;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE(bytes != NULL);
    /* The count of devices stands after three numbers and five texts. */
    for (at = TFR__REPLY_HEAD_BYTES + 12; at + 8 < n; at++)
        if (memcmp(bytes + at, "z=t", 3) == 0)
            break;
    memcpy(bytes + at + 4, &huge, sizeof huge); /* behind its zero */
    seal(bytes, n);
    CHECK_STATUS(TFR_EPLUGIN, tfr__reply_read(bytes, n, &region, &reply, &err), &err);
    CHECK_CONTAINS("a count is larger than possible", err.text);
    tfr__region_free(&region);
    tfr__free(bytes);
}

/* ---- both sides of each limit ---- */

static tfr__reply_device a_device(void)
{
    return (tfr__reply_device){.info = {.type = "NPU", .identity = "x"}};
}

/* Writes and reads; what comes back is in *out, whose texts keep holds. */
static tfr_status there_and_back(const tfr__reply *reply, tfr__region *region, tfr__reply *out,
                                 tfr_err *err)
{
    size_t n;
    void *bytes = tfr__reply_write(reply, &n);
    tfr_status status;
    REQUIRE(bytes != NULL);
    status = tfr__reply_read(bytes, n, region, out, err);
    tfr__free(bytes);
    return status;
}

static void check_back(const tfr__reply *reply, const char *wrong)
{
    tfr__region region = {0};
    tfr__reply out;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status = there_and_back(reply, &region, &out, &err);
    CHECK_STATUS(*wrong ? TFR_EPLUGIN : TFR_OK, status, &err);
    CHECK_CONTAINS(wrong, err.text);
    tfr__region_free(&region);
}

TEST(texts_are_cut_to_what_the_reader_takes)
{
    static char text[9000];
    tfr__reply_claim claim = {.domain = text, .name = text};
    tfr__reply_device device = a_device();
    tfr__reply reply = {.text = text,
                        .name = text,
                        .version = text,
                        .vendor = text,
                        .build_info = text,
                        .devices = &device,
                        .n_devices = 1},
               out;
    tfr__region region = {0};
    tfr_err err = TFR_ERR_INIT;
    memset(text, 'x', sizeof text - 1);
    memset(device.info.type, 'X', sizeof device.info.type);
    memset(device.info.identity, 'x', sizeof device.info.identity);
    memset(device.info.why, 'x', sizeof device.info.why);
    device.claims = &claim;
    device.n_claims = 1;
    REQUIRE_OK(there_and_back(&reply, &region, &out, &err), &err);
    CHECK_UINT(2047, strlen(out.text));
    CHECK_UINT(31, strlen(out.name));
    CHECK_UINT(127, strlen(out.version));
    CHECK_UINT(127, strlen(out.vendor));
    CHECK_UINT(8191, strlen(out.build_info));
    REQUIRE_INT(1, (int)out.n_devices);
    CHECK_UINT(sizeof device.info.type - 1, strlen(out.devices[0].info.type));
    CHECK_UINT(sizeof device.info.identity - 1, strlen(out.devices[0].info.identity));
    CHECK_UINT(sizeof device.info.why - 1, strlen(out.devices[0].info.why));
    CHECK_UINT(127, strlen(out.devices[0].claims[0].domain));
    CHECK_UINT(127, strlen(out.devices[0].claims[0].name));
    tfr__region_free(&region);
}

TEST(only_the_line_feed_of_all_control_bytes_passes)
{
    tfr__reply reply = {.text = "\n\037 \x7e\x7f\x80\xff"}, out;
    tfr__region region = {0};
    tfr_err err = TFR_ERR_INIT;
    char *bytes;
    size_t n;
    REQUIRE_OK(there_and_back(&reply, &region, &out, &err), &err);
    CHECK_STR("\n? \x7e?\x80\xff", out.text);
    bytes = tfr__reply_write(&reply, &n);
    REQUIRE(bytes != NULL);
    for (int c = 0; c < 256; c++) {
        bool good = c == '\n' || (c >= ' ' && c != 127);
        bytes[TFR__REPLY_HEAD_BYTES + 16] = (char)c; /* the first of the text */
        seal(bytes, n);
        err.text[0] = 0;
        CHECK_INT(good ? TFR_OK : TFR_EPLUGIN, tfr__reply_read(bytes, n, &region, &out, &err));
        CHECK_CONTAINS(good ? "" : "a text has control bytes", err.text);
    }
    tfr__free(bytes);
    tfr__region_free(&region);
}

TEST(a_type_is_upper_case_letters_and_an_identity_is_there)
{
    static const struct {
        const char *type, *identity, *wrong;
    } rows[] = {
        {"A", "x", ""},        {"Z_A", "x", ""},      {"", "x", "type"},
        {"@", "x", "type"},    {"[", "x", "type"},    {"a", "x", "type"},
        {"GPU0", "x", "type"}, {"GPU-", "x", "type"}, {"GPU", "", "a device has no identity"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tfr__reply_device device = a_device();
        tfr__reply reply = {.devices = &device, .n_devices = 1};
        snprintf(device.info.type, sizeof device.info.type, "%s", rows[i].type);
        snprintf(device.info.identity, sizeof device.info.identity, "%s", rows[i].identity);
        check_back(&reply, rows[i].wrong);
    }
}

TEST(outcomes_devices_and_claims_have_their_limits)
{
    static tfr__reply_device devices[TFR__REPLY_MAX_DEVICES + 1];
    static tfr__reply_claim claims[TFR__REPLY_MAX_CLAIMS + 1];
    tfr__reply reply = {.devices = devices};
    for (int outcome = -1; outcome <= TFR__OUTCOME_MEMORY + 1; outcome++) {
        reply.outcome = outcome;
        check_back(&reply,
                   outcome < 0 || outcome > TFR__OUTCOME_MEMORY ? "its outcome is not known" : "");
    }
    reply.outcome = TFR__OUTCOME_OK;
    for (size_t i = 0; i <= TFR__REPLY_MAX_DEVICES; i++)
        devices[i] = a_device();
    reply.n_devices = TFR__REPLY_MAX_DEVICES;
    check_back(&reply, "");
    reply.n_devices = TFR__REPLY_MAX_DEVICES + 1;
    check_back(&reply, "a count is larger than possible");
    reply.n_devices = 1;
    devices[0].claims = claims;
    devices[0].n_claims = TFR__REPLY_MAX_CLAIMS;
    check_back(&reply, "");
    devices[0].n_claims = TFR__REPLY_MAX_CLAIMS + 1;
    check_back(&reply, "a count is larger than possible");
}

TEST(an_answer_over_four_mebibytes_is_not_written)
{
    static char text[8192];
    static tfr__reply_device devices[TFR__REPLY_MAX_DEVICES];
    static tfr__reply_claim claims[TFR__REPLY_MAX_CLAIMS];
    tfr__reply reply = {.devices = devices, .n_devices = 4};
    size_t n;
    memset(text, 'x', 127);
    for (size_t i = 0; i < TFR__REPLY_MAX_CLAIMS; i++)
        claims[i] = (tfr__reply_claim){.name = text, .domain = text};
    for (size_t i = 0; i < TFR__REPLY_MAX_DEVICES; i++) {
        devices[i] = a_device();
        devices[i].claims = claims;
        devices[i].n_claims = TFR__REPLY_MAX_CLAIMS;
    }
    CHECK(tfr__reply_write(&reply, &n) == NULL);
    reply.n_devices = 3;
    check_back(&reply, "");
}

TEST(a_head_that_says_more_than_four_mebibytes_is_none)
{
    char head[TFR__REPLY_HEAD_BYTES] = "TFRREPL6";
    uint64_t body = TFR__REPLY_MAX_BYTES;
    memcpy(head + 8, &body, sizeof body);
    CHECK_UINT(TFR__REPLY_MAX_BYTES + TFR__REPLY_HEAD_BYTES, tfr__reply_bytes(head));
    body++;
    memcpy(head + 8, &body, sizeof body);
    CHECK_UINT(0, tfr__reply_bytes(head));
}

static const test_case cases[] = {
    CASE(what_is_written_is_read_back_without_control_bytes),
    CASE(a_shortened_answer_is_refused_at_every_length),
    CASE(an_answer_with_any_byte_changed_is_refused_or_read_without_harm),
    CASE(a_count_larger_than_the_answer_takes_no_memory),
    CASE(texts_are_cut_to_what_the_reader_takes),
    CASE(only_the_line_feed_of_all_control_bytes_passes),
    CASE(a_type_is_upper_case_letters_and_an_identity_is_there),
    CASE(outcomes_devices_and_claims_have_their_limits),
    CASE(an_answer_over_four_mebibytes_is_not_written),
    CASE(a_head_that_says_more_than_four_mebibytes_is_none),
};
TEST_MAIN(cases)
