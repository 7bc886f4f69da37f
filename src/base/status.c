// SPDX-License-Identifier: Apache-2.0
// The English names of the status codes.
#include <hone/status.h>

const char *hone_status_name(hone_status status) {
    switch (status) {
#define HONE_STATUS_NAME(suffix, text)                                                                                 \
    case HONE_##suffix:                                                                                                \
        return text;
        HONE_STATUS_LIST(HONE_STATUS_NAME)
#undef HONE_STATUS_NAME
    }
    return "unknown status";
}
