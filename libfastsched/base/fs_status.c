/* SPDX-License-Identifier: BSD-3-Clause */
#include "fastsched.h"

const char *fs_strerror(fs_status_t status)
{
    switch (status) {
#define X(_name, _value, _text) \
    case _name:                 \
        return _text;
        FS_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}
