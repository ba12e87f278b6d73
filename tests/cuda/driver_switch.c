/* SPDX-License-Identifier: Apache-2.0 */
/* The switches of the driver stand-in: fake_driver.h lists them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static const char *const call_names[] = {
#define X(name, required, since, who) #name,
#include "driver.def"
#undef X
};

/* The next word of *text, or NULL; *n is its length. */
static const char *next_word(const char **text, size_t *n)
{
    const char *word = *text + strspn(*text, " \t\n,");
    *n = strcspn(word, " \t\n,");
    *text = word + *n;
    return *n > 0 ? word : NULL;
}

/* What stands behind NAME= in the word, or NULL. */
static const char *value_of(const char *word, size_t n, const char *name)
{
    size_t len = strlen(name);
    return n > len && strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static bool is_word(const char *word, size_t n, const char *name)
{
    return n == strlen(name) && strncmp(word, name, n) == 0;
}

bool fake_is_absent(const char *name, int since)
{
    const char *text = getenv("TFRUN_FAKE_CUDA");
    if (!text)
        return false;
    size_t n;
    for (const char *word; (word = next_word(&text, &n));) {
        const char *value = value_of(word, n, "absent");
        if (value && (size_t)(word + n - value) == strlen(name) &&
            strncmp(value, name, strlen(name)) == 0)
            return true;
        value = value_of(word, n, "version");
        if (value && strtol(value, NULL, 10) < since)
            return true;
    }
    return false;
}

static void read_order(const char *value)
{
    char name[64];
    unsigned nth, code;
    if (sscanf(value, "%63[^:]:%u:%u", name, &nth, &code) != 3)
        return;
    for (int i = 0; i < N_CALLS; i++)
        if (strcmp(call_names[i], name) == 0 && fake.set.n_orders < 16)
            fake.set.orders[fake.set.n_orders++] = (fake_order){i, nth, code};
}

static void read_value(const char *word, size_t n)
{
    fake_settings *set = &fake.set;
    const char *value;
    if ((value = value_of(word, n, "devices")))
        set->n_devices = (int)strtol(value, NULL, 10);
    else if ((value = value_of(word, n, "peers")))
        set->peers = *value != '0';
    else if ((value = value_of(word, n, "capability")))
        set->capability = (int)strtol(value, NULL, 10);
    else if ((value = value_of(word, n, "multiprocessors")))
        set->multiprocessors = (int)strtol(value, NULL, 10);
    else if ((value = value_of(word, n, "memory")))
        set->memory_bytes = strtoull(value, NULL, 10);
    else if ((value = value_of(word, n, "version")))
        set->version = (int)strtol(value, NULL, 10);
    else if ((value = value_of(word, n, "fail")))
        read_order(value);
    else if ((value = value_of(word, n, "sticky")))
        sscanf(value, "%u:%u", &set->sticky_code, &set->sticky_launch);
    else if ((value = value_of(word, n, "log")))
        snprintf(set->log_file, sizeof set->log_file, "%.*s", (int)(word + n - value), value);
}

void fake_read_switches(const char *text)
{
    fake.set = (fake_settings){.n_devices = 1,
                               .capability = 90,
                               .version = 13000,
                               .peers = true,
                               .memory_bytes = (size_t)16 << 30};
    size_t n;
    for (const char *word; text && (word = next_word(&text, &n));) {
        fake.set.no_device |= is_word(word, n, "nodevice");
        fake.set.exclusive |= is_word(word, n, "exclusive");
        fake.set.prohibited |= is_word(word, n, "prohibited");
        fake.set.lazy |= is_word(word, n, "lazy");
        fake.set.work_time |= is_word(word, n, "worktime");
        fake.set.log |= is_word(word, n, "log") || value_of(word, n, "log");
        read_value(word, n);
    }
    if (fake.set.n_devices < 1 || fake.set.n_devices > MAX_DEVICES)
        fake.set.n_devices = 1;
}
