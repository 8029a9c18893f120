/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All blocks at once, in no order, by the MPI's own messages. Between servers they are
 * cut in pieces that most MPIs send without asking whether the receiver is there, as
 * they do not send longer messages (rendezvous): nobody waits for a rank that has not
 * entered, but for its own bytes. Balanced traffic of ranks that come apart, and of
 * blocks of some tens of KiB where a round trip counts, takes less time so than by any
 * schedule; skewed traffic takes far more. What arrives before its receiver is there
 * lies in that rank's memory.
 */
#ifndef FS_EAGER_H
#define FS_EAGER_H

#include "comm/fs_comm.h"

enum {
    FS_EAGER_PIECE = 16384, /* bytes of a message between servers, at most; */
    FS_EAGER_LARGE =
        1 << 30, /* inside one, and of blocks that would need too many */
    FS_EAGER_MOST =
        64 << 20 /* bytes of a rank between servers: blocks that are longer than
                    four times its mean have larger messages */
};

/* Can calls of this communicator be served so? The same on all ranks. */
bool fs_eager_can(const fs_comm_t *comm);

/* Once before the first: collective and blocking. False, on all ranks: they cannot. */
bool fs_eager_open(fs_comm_t *comm);

/* One blocking call, which has been prepared. FS_OK; FS_ERR_NOMEM, FS_ERR_TRUNCATE
 * (counts differ), an error of the MPI or of pack() and unpack(): the MPI may still
 * use the blocks, and the communicator cannot be used any more. FS_ERR_PEER: so
 * another rank's. */
fs_status_t fs_eager_run(fs_comm_t *comm, const fs_call_t *call);

#endif
