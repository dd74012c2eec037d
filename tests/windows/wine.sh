#!/bin/sh
# Runs a program for Windows under wine: without a display, without its questions and debugger, in
# a folder of its own. `--start` and `--end` stand for a program: between them wine's server stays.
# Without that it ends some seconds after the last program, and one that comes just then may fail.
# LOAM_WINE32 names the folder of a wine for 32 bit (wine32.sh), which is run in the place of wine.
export WINEPREFIX="${LOAM_WINE_PREFIX:?says which folder wine shall use}"
export WINEDEBUG=-all DISPLAY= WINEDLLOVERRIDES="winedbg.exe=d;mscoree=;mshtml=${LOAM_WINE_OVERRIDES:+;$LOAM_WINE_OVERRIDES}"
if [ -n "${LOAM_WINE32:-}" ]; then
  [ -e "$LOAM_WINE32/complete" ] || { echo "not tested: no wine for i386"; exit 77; }
  export WINEARCH=win32 PATH="$LOAM_WINE32/usr/lib/wine:$PATH"
fi
case $1 in
  --start)
    mkdir -p "$WINEPREFIX"
    wineserver --kill || true # one that an interrupted run has left
    wineserver --persistent > /dev/null 2>&1
    # What it starts in the background must not hold the output of whoever called. The unpacked wine
    # for i386 lacks what cmd needs, and all the same makes its folder.
    wine cmd /c exit 0 > /dev/null 2>&1 || [ -n "${LOAM_WINE32:-}" ]
    exit
    ;;
  --end) exec wineserver --kill ;;
esac
exec wine "$@"
