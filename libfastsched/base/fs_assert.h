/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own broken invariants, checked in debug builds only. Bad input and the
 * network are no invariants: they get a status. */
#ifndef FS_ASSERT_H
#define FS_ASSERT_H

#ifdef FS_DEBUG
#include <assert.h>
#define fs_assert(_cond) assert(_cond)
#else
#define fs_assert(_cond) ((void)sizeof(_cond))
#endif

#endif
