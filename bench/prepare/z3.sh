#!/bin/sh
# Problems for z3: N queens that do not attack each other, told in linear integer arithmetic.
#
#   bench/prepare/z3.sh FOLDER     (quick.smt2, full.smt2)
. "$(dirname "$0")/common.sh"

# queens N...: one problem after the other; z3 answers sat to each.
queens() {
    printf '%s\n' "$@" | awk '{
        print "(set-logic QF_LIA)"
        for (i = 0; i < $1; i++)
            printf "(declare-const q%d Int)(assert (and (<= 0 q%d) (< q%d %d)))\n", i, i, i, $1
        for (i = 0; i < $1; i++)
            for (j = i + 1; j < $1; j++) {
                printf "(assert (not (= q%d q%d)))", i, j
                printf "(assert (not (= (- q%d q%d) %d)))", i, j, j - i
                printf "(assert (not (= (- q%d q%d) %d)))\n", j, i, j - i
            }
        print "(check-sat)(reset)"
    }'
}

packages z3
queens 12 16 20 >"$part/quick.smt2" || fail "cannot write"
queens 20 22 24 26 28 >"$part/full.smt2" || fail "cannot write"
finish
