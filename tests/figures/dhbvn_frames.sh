# SPDX-License-Identifier: BSD-3-Clause
# Shared by DHBvN Fig. 2a, 2b and 3: mean frame length over load.
# shellcheck shell=sh
# The paper's text has lost the numbers of servers, GPUs and slots.
servers=4 gpus=8 slots=100000 warmup=10000

# mean_length MODEL BALANCED CLEAR LOAD: the two models draw different packets.
mean_length() {
    seed=1
    if [ "$1" = NU ]; then
        seed=2
    fi
    tool "$FRAMES" --servers $servers --gpus $gpus --slots $slots --warmup $warmup \
        --seed $seed --model "$1" --balanced "$2" --clear "$3" --load "$4" |
        cut -d, -f5
}

# line MODEL LOAD: length unbalanced, balanced, and the bounds of both.
line() {
    echo "$2,$(mean_length "$1" no hierarchical "$2"),$(
        mean_length "$1" yes hierarchical "$2"),$(
        mean_length "$1" no bound "$2"),$(mean_length "$1" yes bound "$2")"
}
