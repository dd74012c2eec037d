#!/usr/bin/env python3
"""Compares loam with other allocators, side by side on this machine.

Runs every row (a benchmark program or a real one) under every allocator in shuffled rounds and
prints medians, spreads and ratios of time, CPU time, peak memory and page faults. bench/README.md
says what the rows show and how to read the numbers.
"""
import argparse
import sys

from comparing import allocators, build, instructions, probes, report, rounds, rows


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run (default: all)")
    parser.add_argument("--quick", action="store_true", help="short runs, 3 of each")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each row (default: 5)")
    parser.add_argument("--allocators", metavar="A,B,...", help="which ones (default: "
                        + ",".join(allocators.DEFAULT_NAMES) + ")")
    parser.add_argument("--library", action="append", default=[], metavar="NAME=PATH",
                        help="one more allocator, or another file for a known name")
    parser.add_argument("--subject", default="loam", metavar="NAME",
                        help="the allocator that ratios are about (default: loam)")
    parser.add_argument("--json", metavar="FILE", help="write all single runs to FILE as well")
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS",
                        help="a run that takes longer has failed (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of runs (default: 1)")
    parser.add_argument("--probes", action="store_true",
                        help="memory after certain situations instead of times")
    parser.add_argument("--instructions", action="store_true",
                        help="instructions of malloc and free, counted, instead of times")
    parser.add_argument("--list", action="store_true", help="list rows and allocators")
    return parser.parse_args()


def main():
    options = arguments()
    try:
        tools = build.everything()
        chosen = allocators.choose(options.allocators, options.library)
        if options.list:
            return report.print_list(rows.all_rows(), chosen)
        usable = allocators.verified(chosen, tools)
        if options.probes:
            return probes.run(usable, tools, options.timeout)
        if options.instructions:
            return instructions.run(usable, tools)
        wanted = rows.choose(options.rows, options.quick)
        runs = options.runs or (3 if options.quick else 5)
        results = rounds.run(wanted, usable, tools, runs, options.timeout, options.seed)
    except (build.BuildError, allocators.UnknownAllocator, rows.UnknownRow) as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncompare: interrupted", file=sys.stderr)
        return 130
    report.print_tables(results, usable, options.subject)
    if options.json:
        report.write_json(options.json, results, usable)
    return 1 if any(run.failure for run in results.runs) else 0


if __name__ == "__main__":
    sys.exit(main())
