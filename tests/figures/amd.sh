# SPDX-License-Identifier: BSD-3-Clause
# The AMD testbed of FAST §5 and FLASH §6: 4 servers of 8 MI300X, full mesh of
# 448 GB/s, 12.5 GB/s out over Ethernet, where many senders to one NIC cost
# goodput.
# shellcheck shell=sh
# Fitted, so that FAST over all-at-once on random sizes is 1.1 at 100 MB and 10
# at 1 GB (FAST §5.1.1).
incast='--incast 0.45 --incast-bytes 12000000'
testbed="--servers 4 --lanes 8 --scale-out 100gbit --scale-up 448GBps --topology mesh"
