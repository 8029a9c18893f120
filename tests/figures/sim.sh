# SPDX-License-Identifier: BSD-3-Clause
# Shared by the figures that simulate.
# shellcheck shell=sh

# The start-up cost of a message, in us. No paper gives that between servers;
# StragglAR §4.3 gives 3 us inside.
alpha=10 alpha_up=3

# Traffic is random: every point is the mean of these seeds.
seeds='1 2 3'

# What a series runs. "fast" is FAST and FLASH as published: equal rows, then
# Birkhoff stages, each sent as one piece. "ours" is what this library does
# unless told otherwise.
algorithm_options() {
    case $1 in
    fast) echo --algorithm staged --balance equalize --decompose birkhoff \
        --chunk 1g --staging-limit 16g ;;
    ours) echo --algorithm staged ;;
    # One-to-one stages have no incast; here is what happens without them.
    all-at-once) echo --algorithm all-at-once ${incast-} ;;
    hierarchical2d | relay) echo --algorithm "$1" --chunk 4m ;;
    spreadout) echo --algorithm spreadout ;;
    light) echo --algorithm pipe2d ;;
    heavy) echo --algorithm staged --balance greedy ;;
    *) echo "no series $1" >&2; return 1 ;;
    esac
}

# simulate SERIES OPTIONS: JSON of one run.
simulate() {
    series=$1
    shift
    # shellcheck disable=SC2046
    tool "$FASTSCHED" sim $(algorithm_options "$series") \
        --alpha $alpha --alpha-up $alpha_up "$@" --format json
}

# traffic PATTERN MEAN SEED: the options that make it. The pattern is one of the
# command's or senders:S, see zipf_matrix.py, for 32 ranks.
traffic() {
    case $1 in
    senders:*)
        tool python3 "$FIG_SRC/zipf_matrix.py" 32 "${1#*:}" "$2" "$3" \
            >"$work/matrix$3"
        echo --matrix "$work/matrix$3"
        ;;
    *) echo --pattern "$1" --mean "$2" --seed "$3" ;;
    esac
}

# bandwidth SERIES PATTERN MEAN OPTIONS: algorithmic bandwidth, GB/s per GPU,
# mean of the seeds. The series "bound" is the optimum, where scale-up links take
# no time.
bandwidth() {
    series=$1 key=algo_bandwidth pattern=$2 mean=$3
    shift 3
    if [ "$series" = bound ]; then
        series=spreadout key=optimal_bandwidth
    fi
    for seed in $seeds; do
        # shellcheck disable=SC2046
        simulate $series $(traffic "$pattern" "$mean" "$seed") "$@" \
            >"$work/json"
        json_number $key <"$work/json"
    done | awk '{ sum += $1 } END { printf "%.3f\n", sum / NR / 1e9 }'
}

# bandwidths "SERIES..." PATTERN MEAN OPTIONS: ",X,Y..." and the end of a line.
bandwidths() {
    all=$1
    shift
    for one in $all; do
        printf ',%s' "$(bandwidth "$one" "$@")"
    done
    echo
}
