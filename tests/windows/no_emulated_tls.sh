#!/bin/sh
# no_emulated_tls.sh NM OBJECT: the object has loam's thread-local variables, and none that the
# compiler emulates, which it would do with calls of malloc.
symbols=$("$1" "$2") || exit 1
if ! echo "$symbols" | grep -q 'lm_this_cache$'; then
  echo "$2: no lm_this_cache"
  exit 1
fi
if echo "$symbols" | grep '__emutls'; then
  echo "$2: emulated thread-local variables"
  exit 1
fi
