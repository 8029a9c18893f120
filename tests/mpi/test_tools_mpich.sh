#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec "$(dirname "$0")/test_tools.sh" --mpi mpich "$@"
