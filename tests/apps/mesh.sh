#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The graph of a mesh of N x N x N points with up to six neighbours each, as
# Scotch reads it.
#
#   mesh.sh N
awk -v n="$1" '
function at(x, y, z)
{
    if (x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n)
        return
    row = row " " x + n * (y + n * z)
    edges++
}
BEGIN {
    for (z = 0; z < n; z++)
        for (y = 0; y < n; y++)
            for (x = 0; x < n; x++) {
                row = ""; had = edges + 0
                at(x - 1, y, z); at(x + 1, y, z)
                at(x, y - 1, z); at(x, y + 1, z)
                at(x, y, z - 1); at(x, y, z + 1)
                rows[points++] = edges - had row
            }
    print 0; print points, edges; print 0, "000"
    for (k = 0; k < points; k++)
        print rows[k]
}'
