#!/bin/sh
# Runs a program for Windows under wine: without a display, without its questions and debugger, in
# a folder of its own. `--start` and `--end` stand for a program: between them wine's server stays.
# Without that it ends some seconds after the last program, and one that comes just then may fail.
export WINEPREFIX="${LOAM_WINE_PREFIX:?says which folder wine shall use}"
export WINEDEBUG=-all DISPLAY= WINEDLLOVERRIDES="winedbg.exe=d;mscoree=;mshtml="
case $1 in
  --start)
    mkdir -p "$WINEPREFIX"
    wineserver --kill || true # one that an interrupted run has left
    wineserver --persistent > /dev/null 2>&1
    # What it starts in the background must not hold the output of whoever called.
    exec wine cmd /c exit 0 > /dev/null 2>&1
    ;;
  --end) exec wineserver --kill ;;
esac
exec wine "$@"
