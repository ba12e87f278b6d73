/* SPDX-License-Identifier: Apache-2.0 */
/* check_facts.c: what is known of a plugin before it computes: its note, its devices, its claims.
 */
#include <string.h>

#include "subject.h"

void certify_check_note(certify_subject *s, certify_verdict *v)
{
    const tfr_plugin_desc *p = &s->plugin;
    if (p->state != TFR_PLUGIN_USABLE && p->state != TFR_PLUGIN_LOADED) {
        certify_set(v, CERTIFY_FAILED, "%s: %s%s%s",
                    tfr_plugin_state_name((tfr_plugin_state)p->state), p->reason,
                    *p->next_step ? "; " : "", p->next_step);
        v->is_last = 1;
    } else if (!*p->version) {
        certify_set(v, CERTIFY_FAILED, "the plugin says no version of its own");
    } else if (p->kind != TFR_PLUGIN_BACKEND) {
        certify_set(v, CERTIFY_FAILED, "the plugin is of kind %u, and backends are certified",
                    (unsigned)p->kind);
        v->is_last = 1;
    } else {
        certify_set(v, CERTIFY_PASSED, "%s %s, contract %u.%u, priority %d", p->name, p->version,
                    (unsigned)p->abi_major, (unsigned)p->abi_minor, (int)p->priority);
    }
}

void certify_check_devices(certify_subject *s, certify_verdict *v)
{
    size_t used = 0;
    uint32_t n = 0;
    char text[400] = "";
    for (uint32_t d = 0; d < tfr_runtime_n_devices(s->run.runtime); d++) {
        tfr_device_desc device = {.size = sizeof device};
        tfr_backend_desc backend = {.size = sizeof backend};
        if (tfr_runtime_device(s->run.runtime, d, &device, NULL))
            continue;
        for (uint32_t b = 0; !tfr_runtime_backend(s->run.runtime, d, b, &backend, NULL); b++) {
            if (strcmp(backend.path, s->plugin.path) != 0 || used >= sizeof text)
                continue;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s of %s", n++ ? ", " : "",
                                     backend.name, device.name);
        }
    }
    certify_set(v, CERTIFY_PASSED, "%s; %s is checked", text, s->name);
}

void certify_check_claims(certify_subject *s, certify_verdict *v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tfr_op_count(); i++)
        n += certify_claims(s, i);
    /* A plugin that is usable and has a reason nevertheless has claims that do not fit. */
    if (*s->plugin.reason)
        certify_set(v, CERTIFY_FAILED, "%s", s->plugin.reason);
    else if (!n)
        certify_set(v, CERTIFY_FAILED, "no op of the op table is claimed");
    else
        certify_set(v, CERTIFY_PASSED, "%u op%s, as the op table has %s", (unsigned)n,
                    n > 1 ? "s" : "", n > 1 ? "them" : "it");
}
