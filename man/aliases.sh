#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# aliases.sh PAGE...: for each name in the NAME section of a page, but its own,
# a line "NAME PAGE". The Makefile makes a page of each, so that man finds it.
set -eu
for file in "$@"; do
    page=${file##*/}
    page=${page%.*}
    sed -n '/^\.SH NAME/,/\\-/ { /^\.SH/d; s/\\-.*//; p; }' "$file" |
        tr -s ', ' '[\n*]' | grep -vx -e "$page" -e '' | sed "s/\$/ $page/"
done
