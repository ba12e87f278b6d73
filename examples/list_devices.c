/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the devices, the backends of each, and what became of each plugin file:
 * list_devices [PLUGIN.so...], where a file named is asked before those in the plugin folders.
 */
#include <stdio.h>
#include <tfrun/device.h>

int main(int argc, char **argv)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_device_desc device = {.size = sizeof device};
    tfr_backend_desc backend = {.size = sizeof backend};
    tfr_plugin_desc plugin = {.size = sizeof plugin};
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    uint32_t i, k;

    options.plugin_files = (const char *const *)argv + 1;
    options.n_plugin_files = argc > 1 ? (uint32_t)argc - 1 : 0;
    if (tfr_runtime_create(&options, &runtime, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    for (i = 0; !err.code && i < tfr_runtime_n_devices(runtime); i++) {
        if (tfr_runtime_device(runtime, i, &device, &err))
            break;
        printf("device %s: %s, %u ops\n", device.name, device.description, device.n_ops);
        for (k = 0; k < device.n_backends; k++)
            if (!tfr_runtime_backend(runtime, i, k, &backend, &err))
                printf("  backend %s, priority %d\n", backend.name, (int)backend.priority);
    }
    for (i = 0; !err.code && i < tfr_runtime_n_plugins(runtime); i++)
        if (!tfr_runtime_plugin(runtime, i, &plugin, &err))
            printf("plugin %s: %s%s%s%s%s\n", plugin.name,
                   tfr_plugin_state_name((tfr_plugin_state)plugin.state),
                   *plugin.reason ? ", " : "", plugin.reason, *plugin.next_step ? "; " : "",
                   plugin.next_step);
    if (err.code)
        fprintf(stderr, "%s\n", err.text);
    tfr_runtime_release(runtime);
    return err.code ? 1 : 0;
}
