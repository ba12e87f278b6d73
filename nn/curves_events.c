/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves_events.c: event files of TensorBoard. A record is its size as u64, a masked CRC32C of
 * these 8 bytes, the data, and a masked CRC32C of the data, all little endian (TensorFlow's
 * record_writer.cc); the data is an Event of event.proto: 1 double wall_time, 2 int64 step, 3
 * string file_version, 5 Summary, whose field 1 repeats a Value with 1 string tag and 2 float
 * simple_value.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <time.h>
#include <unistd.h>

#include "crc32c.h"
#include "curves.h"

/* Number of a field and its wire type, as in protocol buffers. */
enum { DOUBLE_1 = 1 << 3 | 1, VARINT_2 = 2 << 3, TEXT_3 = 3 << 3 | 2, MESSAGE_5 = 5 << 3 | 2 };
enum { MESSAGE_1 = 1 << 3 | 2, TEXT_1 = 1 << 3 | 2, FLOAT_2 = 2 << 3 | 5 };

typedef struct bytes {
    size_t n, capacity;
    unsigned char *data; /* NULL = memory was short */
} bytes;

static bytes bytes_new(size_t capacity)
{
    return (bytes){0, capacity, malloc(capacity)};
}

static void put(bytes *b, const void *data, size_t n)
{
    if (b->data && n <= b->capacity - b->n) {
        memcpy(b->data + b->n, data, n);
        b->n += n;
    }
}

static void put_little(bytes *b, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        put(b, &(unsigned char){(unsigned char)(value >> 8 * i)}, 1);
}

static void put_varint(bytes *b, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put(b, &(unsigned char){(unsigned char)(value | 128)}, 1);
    put(b, &(unsigned char){(unsigned char)value}, 1);
}

static void put_text(bytes *b, int field, const void *text, size_t n)
{
    put_varint(b, (uint64_t)field);
    put_varint(b, n);
    put(b, text, n);
}

static uint32_t masked_crc(const void *data, size_t n)
{
    const uint32_t crc = tfr__crc32c(0, data, n);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* As one write, so that a reader never meets half of it on most file systems. */
static tfr_status write_record(int fd, const bytes *event, tfr_err *err)
{
    bytes record = bytes_new(event->n + 16);
    int error = ENOMEM;
    put_little(&record, event->n, 8);
    if (record.data)
        put_little(&record, masked_crc(record.data, 8), 4);
    put(&record, event->data, event->n);
    put_little(&record, masked_crc(event->data, event->n), 4);
    if (record.data)
        error = tfr__curves_write(fd, record.data, record.n);
    free(record.data);
    return error ? tfr_fail(err, error == ENOMEM ? TFR_ENOMEM : TFR_EIO,
                            "an event file for TensorBoard cannot be written: %s", strerror(error))
                 : TFR_OK;
}

static void put_time(bytes *event)
{
    struct timespec now;
    double seconds;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(&bits, &seconds, sizeof bits);
    put_varint(event, DOUBLE_1);
    put_little(event, bits, 8);
}

tfr_status tfr__events_create(const char *folder, int *fd, tfr_err *err)
{
    static const char version[] = "brain.Event:2";
    char path[4096], host[256] = "localhost";
    const long seconds = (long)time(NULL);
    bytes event;
    tfr_status status;
    (void)gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        if (*c == '/')
            *c = '-';
    *fd = -1;
    for (int i = 0; *fd < 0 && i < 1000; i++) {
        char number[16] = "";
        if (i)
            snprintf(number, sizeof number, ".%d", i);
        snprintf(path, sizeof path, "%s/events.out.tfevents.%ld.%s.%ld%s", folder, seconds, host,
                 (long)getpid(), number);
        *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (*fd < 0 && errno != EEXIST)
            break;
    }
    if (*fd < 0)
        return tfr_fail(err, TFR_EIO, "%s: cannot be made: %s", path, strerror(errno));
    event = bytes_new(64);
    put_time(&event);
    put_text(&event, TEXT_3, version, strlen(version));
    status = event.data ? write_record(*fd, &event, err)
                        : tfr_fail(err, TFR_ENOMEM, "no memory for an event file");
    free(event.data);
    return status;
}

static void put_value(bytes *summary, const char *tag, double value)
{
    const size_t n = strlen(tag);
    const float narrow = (float)value;
    bytes one = bytes_new(n + 32);
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    put_text(&one, TEXT_1, tag, n);
    put_varint(&one, FLOAT_2);
    put_little(&one, bits, 4);
    if (one.data)
        put_text(summary, MESSAGE_1, one.data, one.n);
    free(one.data);
}

tfr_status tfr__events_add(const tfr_curves *c, int64_t step, const double *values, tfr_err *err)
{
    size_t room = 64;
    bytes summary, event;
    tfr_status status;
    for (uint32_t i = 0; i < c->n; i++)
        room += strlen(c->names[i]) + 64;
    summary = bytes_new(room);
    event = bytes_new(room + 64);
    for (uint32_t i = 0; i < c->n; i++)
        if (!isnan(values[i]))
            put_value(&summary, c->names[i], values[i]);
    put_time(&event);
    put_varint(&event, VARINT_2);
    put_varint(&event, (uint64_t)step);
    if (summary.data)
        put_text(&event, MESSAGE_5, summary.data, summary.n);
    status = summary.data && event.data ? write_record(c->events_fd, &event, err)
                                        : tfr_fail(err, TFR_ENOMEM, "no memory for an event");
    free(summary.data);
    free(event.data);
    return status;
}
