#!/bin/sh
# Runs a program for Windows under wine: without a display, without its questions and debugger, in
# a folder of its own.
export WINEPREFIX="${LOAM_WINE_PREFIX:?says which folder wine shall use}"
export WINEDEBUG=-all DISPLAY= WINEDLLOVERRIDES="winedbg.exe=d;mscoree=;mshtml="
exec wine "$@"
