# SPDX-License-Identifier: BSD-3-Clause
"""The servers of the job, and how many ranks each gets: from a host file or from Slurm."""
import collections
import os
import re
import subprocess

from ..failure import bad

Server = collections.namedtuple("Server", "name ranks")


def _host_line(words, where):
    """Of the line of a host file: HOST, HOST:RANKS or HOST slots=RANKS."""
    found = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?::(\S+))?", words[0])
    if not found:
        raise bad(f"{where}: {words[0]}: must be the name of a host, or HOST:RANKS")
    name, ranks = found.groups()
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "slots" and ranks is None:
            ranks = value
        elif key not in ("max_slots", "max-slots"):
            raise bad(f"{where}: {word}: a line is HOST, HOST:RANKS or HOST slots=RANKS")
    if ranks is not None and not re.fullmatch(r"[1-9]\d{0,4}", ranks):
        raise bad(f"{where}: {ranks}: the ranks of {name} must be a whole number from 1 to 99999")
    return Server(name, int(ranks or 1))


def from_file(path):
    """Of a host file, of either MPI."""
    servers = {}
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise bad(f"--hosts {path}: {getattr(error, 'strerror', None) or 'not a text file'}") from None
    for k, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if words:
            server = _host_line(words, f"{path}:{k}")
            if server.name in servers:
                raise bad(f"{path}:{k}: {server.name} is there twice; name each host once, with its ranks")
            servers[server.name] = server
    return list(servers.values())


def per_node(text):
    """Of SLURM_TASKS_PER_NODE: "2(x3),1" is 2, 2, 2, 1."""
    counts = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if not found:
            raise bad(f"SLURM_TASKS_PER_NODE={text}: must be as in 2(x3),1; give --ranks instead")
        counts += [int(found[1])] * int(found[2] or 1)
    return counts


def from_slurm():
    """Of the job or allocation that this process is in."""
    nodes = os.environ["SLURM_JOB_NODELIST"]
    try:
        done = subprocess.run(["scontrol", "show", "hostnames", nodes], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False)
    except OSError as error:
        raise bad(f"scontrol, which names the servers of {nodes}: {error.strerror}") from None
    names = done.stdout.split()
    if done.returncode != 0 or not names:
        raise bad(f"scontrol show hostnames {nodes}: {done.stderr.strip() or 'no names'}")
    counts = per_node(os.environ.get("SLURM_TASKS_PER_NODE", f"1(x{len(names)})"))
    if len(counts) != len(names):
        raise bad(f"SLURM_TASKS_PER_NODE is for {len(counts)} servers, SLURM_JOB_NODELIST names {len(names)}")
    return [Server(*both) for both in zip(names, counts)]


def find(options):
    """The servers, at least two."""
    if options.hosts:
        servers, whence = from_file(options.hosts), f"--hosts {options.hosts}"
    elif "SLURM_JOB_NODELIST" in os.environ:
        servers, whence = from_slurm(), "the Slurm job"
    else:
        raise bad("on which servers? Run it in a Slurm job (salloc, sbatch), or give --hosts FILE")
    if options.ranks:
        servers = [Server(server.name, options.ranks) for server in servers]
    if len(servers) < 2:
        raise bad(f"{whence} has {len(servers)} server{'s' * (len(servers) != 1)}; at least two are needed: "
                  "fast serves traffic between servers")
    return servers
