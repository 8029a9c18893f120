# SPDX-License-Identifier: BSD-3-Clause
"""The command line of fastsched-field."""
import argparse
import re
import shlex

from .tables import read_size

_PATTERN = (r"balanced|random|intrahost|pencil|adversarial|moe(:\d+(\.\d+)?)?|(zipf|lognormal):\d+(\.\d+)?"
            r"|(hotspot|sparse):[1-9]\d*|file:.+")
_FACTORS = {"k": 1e-3, "m": 1, "g": 1e3, "t": 1e6}


def _number(least, most):
    def read(text):
        if not re.fullmatch(r"\d{1,6}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text}: must be a whole number from {least} to {most}")
        return int(text)
    return read


def _rate(text):
    """In Mbit/s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt])bit", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text}: must be a number above 0 and kbit, mbit, gbit or tbit, as in "
                                         "200gbit")
    return float(found[1]) * _FACTORS[found[2]]


def _size(text):
    least, colon, most = text.partition(":")
    if not colon:
        most = least
    good = all(re.fullmatch(r"[1-9]\d{0,9}[kmg]?", x) for x in (least, most)) and read_size(least) <= read_size(most)
    if not good:
        raise argparse.ArgumentTypeError(f"{text}: must be a size or MIN:MAX, in bytes or with k, m or g, as in 512:8k")
    return f"{least}:{most}"


def _pattern(text):
    if not re.fullmatch(_PATTERN, text):
        raise argparse.ArgumentTypeError(f"{text}: must be a pattern of osu_alltoallv_skew, as in zipf:0.8 or "
                                         "file:matrix.txt")
    return text


def _words(text):
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def _prefix(text):
    if not text or text.endswith("/"):
        raise argparse.ArgumentTypeError(f"{text or '(empty)'}: must be the name of files, without .md and .json")
    return text


def _add_servers(add):
    add("--hosts", metavar="FILE", help="the servers: a line is HOST, HOST:RANKS or HOST slots=RANKS\n"
        "(default: those of the Slurm job)")
    add("--ranks", type=_number(1, 99999), metavar="N", help="ranks of each server (default: as FILE or Slurm says)")
    add("--nics", type=_number(1, 99999), metavar="N", help="NICs of a server that ranks share (default: one per rank)")
    add("--rate", type=_rate, help="of one NIC, each way, as in 200gbit (default: what streams reach)")
    add("--mpi", choices=("ompi", "mpich"), help="Open MPI or MPICH (default: the one that is in PATH)")
    add("--mpi-options", type=_words, default=[], metavar="WORDS", help="also for mpirun or mpiexec")
    add("--wrapper", type=_words, default=[], metavar="COMMAND",
        help="in front of each rank's program, as in 'numactl -l'")


def _add_work(add):
    add("--minutes", type=_number(1, 600), default=10, metavar="N", help="what it may take (default: 10)")
    add("--rounds", type=_number(3, 99), default=3, metavar="N", help="of each row, with and without fast in turn\n"
        "(default: 3)")
    add("--pattern", type=_pattern, action="append", help="only this traffic; may be repeated")
    add("--size", type=_size, action="append", metavar="[MIN:]MAX",
        help="only these mean bytes per pair; may be repeated")
    add("--device", choices=("auto", "none", "cuda", "rocm"), default="auto", help="buffers also there (default: auto)")
    add("--check", action="store_true", help="only check that it would run")
    add("--plan", action="store_true", help="check, measure streams, and say what fits into the time")
    add("--output", type=_prefix, metavar="PREFIX", help="of the report (default: fastsched-field-DATE-TIME)")
    add("--report", metavar="FILE", help="only print FILE, a report in JSON, as Markdown")


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="fastsched-field", formatter_class=argparse.RawTextHelpFormatter, allow_abbrev=False,
        description="Measures MPI_Alltoallv on a cluster, with and without fast, in the time that you give it, and\n"
        "writes a report: PREFIX.md to read and PREFIX.json. Run it in a Slurm job, or with a host file:\n\n"
        "  salloc -N 4 --ntasks-per-node=8 fastsched-field\n  fastsched-field --hosts FILE\n")
    _add_servers(parser.add_argument_group("where").add_argument)
    _add_work(parser.add_argument_group("what").add_argument)
    return parser.parse_args(argv)
