/* SPDX-License-Identifier: Apache-2.0 */
/* module.c: what tfrun-certify.so exports. */
#include "certify.h"

__attribute__((visibility("default"))) const certify_module tfrun_certify = {
    .version = PACKAGE_VERSION,
    .n_checks = certify_n_checks,
    .describe = certify_describe,
    .is_wanted = certify_is_wanted,
    .has_unknown = certify_has_unknown,
    .run = certify_run,
    .finish = certify_finish,
};
