/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: the talk: to the program's function, or to standard error. One call at a time. */
#include "device/runtime.h"

#include <stdarg.h>
#include <stdio.h>

void tfr__log(tfr_runtime *runtime, tfr_log_level level, const char *who, const char *format, ...)
{
    char text[2048], *c;
    va_list args;
    int32_t limit = runtime && runtime->log_level ? runtime->log_level : TFR_LOG_WARNING;
    if ((int32_t)level > limit)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    if (!runtime) {
        fprintf(stderr, "tfrun: %s: %s\n", who, text);
        return;
    }
    pthread_mutex_lock(&runtime->log_lock);
    if (runtime->log)
        runtime->log(runtime->log_user, level, who, text);
    else
        fprintf(stderr, "tfrun: %s: %s%s\n", who,
                level == TFR_LOG_ERROR     ? "error: "
                : level == TFR_LOG_WARNING ? "warning: "
                                           : "",
                text);
    pthread_mutex_unlock(&runtime->log_lock);
}
