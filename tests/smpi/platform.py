#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A two-tier platform for SimGrid: PLATFORM and HOSTFILE, one host per rank.

Usage: platform.py SERVERS RANKS_PER_SERVER PLATFORM HOSTFILE

Every rank has a NIC of 50 GB/s each way and, inside its server, a port of
450 GB/s each way; NICs meet in a switch, ports in another, and neither switch
is ever the bottleneck. Latency is 5 us between servers and 1.5 us inside.
"""

import sys

NIC = 'bandwidth="50GBps" latency="2.5us"'
PORT = 'bandwidth="450GBps" latency="0.75us"'


def server(u, n_local):
    """A zone: hosts, their links, the way to each other and to the gateway."""
    hosts = [f"s{u}r{i}" for i in range(n_local)]
    lines = [f'    <zone id="server{u}" routing="Full">']
    for host in hosts:
        lines.append(f'      <host id="{host}" speed="1Gf"/>')
    lines.append(f'      <router id="gate{u}"/>')
    for host in hosts:
        for kind, what in (("nic", NIC), ("port", PORT)):
            lines.append(f'      <link id="{kind}_{host}" {what} '
                         'sharing_policy="SPLITDUPLEX"/>')
    for a in hosts:
        for b in hosts:
            if a != b:
                lines.append(
                    f'      <route src="{a}" dst="{b}" symmetrical="NO">'
                    f'<link_ctn id="port_{a}" direction="UP"/>'
                    f'<link_ctn id="port_{b}" direction="DOWN"/></route>')
        lines.append(f'      <route src="{a}" dst="gate{u}" symmetrical="NO">'
                     f'<link_ctn id="nic_{a}" direction="UP"/></route>')
        lines.append(f'      <route src="gate{u}" dst="{a}" symmetrical="NO">'
                     f'<link_ctn id="nic_{a}" direction="DOWN"/></route>')
    lines.append("    </zone>")
    return lines


def platform(n_servers, n_local):
    lines = ["<?xml version='1.0'?>",
             '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
             '<platform version="4.1">',
             '  <zone id="cluster" routing="Full">']
    for u in range(n_servers):
        lines += server(u, n_local)
    # One link for all would tie all messages together for the solver, although
    # it slows down none.
    pairs = [(u, w) for u in range(n_servers) for w in range(u + 1, n_servers)]
    for u, w in pairs:
        lines.append(f'    <link id="switch{u}-{w}" bandwidth="1000TBps" '
                     'latency="0" sharing_policy="FATPIPE"/>')
    for u, w in pairs:
        lines.append(f'    <zoneRoute src="server{u}" dst="server{w}" '
                     f'gw_src="gate{u}" gw_dst="gate{w}">'
                     f'<link_ctn id="switch{u}-{w}"/></zoneRoute>')
    return lines + ["  </zone>", "</platform>"]


def main():
    n_servers, n_local = int(sys.argv[1]), int(sys.argv[2])
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write("\n".join(platform(n_servers, n_local)) + "\n")
    with open(sys.argv[4], "w", encoding="utf-8") as file:
        for u in range(n_servers):
            for i in range(n_local):
                file.write(f"s{u}r{i}\n")


if __name__ == "__main__":
    main()
