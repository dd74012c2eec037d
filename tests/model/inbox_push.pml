/* The inbox as a list: push and lm_remote_close of src/heap/remote.c, word by word.
 *
 * Two senders have a parcel of two messages each for a heap that ends meanwhile. Whoever finds the
 * inbox closed delivers its own messages one by one, walking the links; the heap delivers what was
 * in the inbox. Checked: each message is delivered exactly once.
 *
 *   size: -DSENDERS=2
 *   size: -DSENDERS=3
 *   mutant: MUTANT_END_STAYS_LINKED    a failed push leaves the parcel's end linked to the inbox
 *   mutant: MUTANT_CLOSE_BY_STORE      the heap reads the inbox and closes it in two steps
 *   mutant: MUTANT_PUSH_BY_STORE       the head is stored, not compared and swapped
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#define MESSAGES (2 * SENDERS)
#define NONE 100
#define CLOSED 101

byte head = NONE;
byte next[MESSAGES];
byte delivered[MESSAGES];
byte done;

inline deliver_all(first) {
  at = first;
  do
  :: at != NONE ->
    after = next[at];
    next[at] = NONE;
    delivered[at]++;
    assert(delivered[at] == 1);
    at = after
  :: at == NONE -> break
  od
}

proctype Sender(byte first) {
  byte expected, at, after, last = first + 1;
  bool pushed = false;
  expected = head;
  do
  :: !pushed && expected != CLOSED ->
    next[last] = expected;
    atomic { /* the compare-and-swap */
      if
#ifdef MUTANT_PUSH_BY_STORE
      :: true -> head = first; pushed = true
#else
      :: head == expected -> head = first; pushed = true
      :: else -> expected = head
#endif
      fi
    }
  :: !pushed && expected == CLOSED ->
#ifndef MUTANT_END_STAYS_LINKED
    next[last] = NONE;
#endif
    deliver_all(first);
    break
  :: pushed -> break
  od;
  done++
}

proctype Owner() {
  byte taken, at, after;
  if /* a look before the end, or none */
  :: atomic { taken = head; head = NONE };
    deliver_all(taken)
  :: true
  fi;
#ifdef MUTANT_CLOSE_BY_STORE
  taken = head;
  head = CLOSED;
#else
  atomic { taken = head; head = CLOSED };
#endif
  deliver_all(taken);
  done++
}

init {
  byte n = 0;
  atomic {
    do
    :: n < SENDERS -> next[2 * n] = 2 * n + 1; next[2 * n + 1] = NONE; run Sender(2 * n); n++
    :: else -> break
    od;
    run Owner();
    n = 0
  }
  done == SENDERS + 1 -> atomic {
    do
    :: n < MESSAGES -> assert(delivered[n] == 1); n++
    :: else -> break
    od
  }
}
