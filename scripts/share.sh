#!/bin/sh
# What the command says about itself, for packages: FOLDER/man and FOLDER/completions.
#   scripts/share.sh FOLDER COMMAND...
set -eu
folder=$1
shift
mkdir -p "$folder/completions"
"$@" man "$folder/man"
"$@" completions bash > "$folder/completions/loam"
"$@" completions zsh > "$folder/completions/_loam"
"$@" completions fish > "$folder/completions/loam.fish"
