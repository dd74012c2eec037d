/* Remote frees while owners change: src/heap/remote.c, orphan.c and the ends of heaps in heap.c.
 *
 * One class; SPANS spans of BLOCKS blocks; two heaps. Thread 0 owns heap 0 with all spans at the
 * start and ends; thread 1 takes heap 0 over when it waits; thread 2 has heap 1 and adopts
 * orphans. The program has handed every block to a freer, which frees it from afar.
 *
 * An action is atomic where the code is: one atomic instruction, one critical section, or work on
 * memory that nobody else touches. A message is one block here: the blocks of a chain travel
 * together, and what is proven for the handle holds for all of them. An inbox is a set of blocks,
 * since the order of messages does not matter; inbox_push.pml has it as the list that it is.
 *
 * Checked: a block is put back exactly once; what is handed out again was free; a span is given
 * back exactly when its last block is back, and once; when all is done no block is lost; no
 * deadlock; whoever finds an inbox closed finds another owner.
 *
 * Sizes that are searched whole, and one that takes long:
 *   size: -DSPANS=1 -DBLOCKS=2
 *   size: -DSPANS=2 -DBLOCKS=1
 *   long size: -DSPANS=1 -DBLOCKS=3
 *
 * -DMUTANT_... builds a bug in, which the search must find; check.sh knows them by these lines:
 *   mutant: MUTANT_INBOX_STAYS_OPEN       the inbox is not closed when the heap ends
 *   mutant: MUTANT_CLOSE_BEFORE_ORPHANS   the inbox is closed while spans still have the owner
 *   mutant: MUTANT_NO_OWNER_CHECK         a collector takes every message for its own
 *   mutant: MUTANT_NO_ORPHAN_CHECK        a put-back does not look whether the span is an orphan
 *   mutant: MUTANT_REST_IS_DROPPED        what is in the inbox at the end is not passed on
 *   mutant: MUTANT_PUSH_IGNORES_CLOSED    a push does not look whether the inbox is closed
 */
#ifndef SPANS
#define SPANS 1
#endif
#ifndef BLOCKS
#define BLOCKS 3 /* of a span */
#endif
#define ALL (SPANS * BLOCKS)
#define FREERS 2
#define HEAPS 2

#define NOBODY 9      /* the owner of an orphan */
#define ENDED 8       /* the owner of a span that has been given back */

#define USED 0        /* the program's, or on its way back */
#define FREE 1        /* on its span's free list */

byte owner[SPANS];        /* lm_span.owner */
byte used_count[SPANS];   /* kept by the owner, or under the orphans' lock */
bool listed[SPANS];       /* on the list of orphans */
byte state[ALL];
bool held[ALL];           /* by the program: a freer has still to free it */
byte held_count;
bit inbox[HEAPS * ALL];   /* bit b of heap h: a message with block b is there */
bool closed[HEAPS];
bool idle[HEAPS];         /* on the list of heaps without a thread */
byte done;                /* freers that are through */
byte ended;               /* owners that are through */
bit lock;                 /* the class's orphans */

#define SPAN(b) ((b) / BLOCKS)
#define BIT(h, b) ((h) * ALL + (b))

inline put_back_count(b) {
  assert(state[b] == USED && !held[b]); /* not twice, and not while the program has it */
  state[b] = FREE;
  assert(used_count[SPAN(b)] > 0);
  used_count[SPAN(b)]--
}

inline end_span(s) {
  assert(owner[s] != ENDED && used_count[s] == 0);
  owner[s] = ENDED;
  listed[s] = false
}

/* lm_orphan_put_back: under the lock. Only the removal from the list is; the end of an empty span
 * comes after, but by then nobody else can find it. */
inline orphan_put_back(b, good) {
  atomic {
    lock == 0 -> lock = 1;
    good = (owner[SPAN(b)] == NOBODY);
#ifdef MUTANT_NO_ORPHAN_CHECK
    good = true;
#endif
    if
    :: good ->
      assert(owner[SPAN(b)] == NOBODY && listed[SPAN(b)]);
      put_back_count(b);
      if
      :: used_count[SPAN(b)] == 0 -> end_span(SPAN(b))
      :: else
      fi
    :: else
    fi;
    lock = 0
  }
}

/* push: the compare-and-swap onto the inbox. */
inline push(h, b, good) {
  atomic {
    good = !closed[h];
#ifdef MUTANT_PUSH_IGNORES_CLOSED
    good = true;
#endif
    if
    :: good ->
      assert(inbox[BIT(h, b)] == 0); /* one message is in one inbox once */
      inbox[BIT(h, b)] = 1
    :: else ->
      /* What makes the sender's loop end: the owner that it read is one no longer. */
      assert(owner[SPAN(b)] != h)
    fi
  }
}

/* deliver: reads the owner, then pushes or puts back; other things happen in between. */
inline deliver(b) {
  sent = false;
  do
  :: !sent ->
    to = owner[SPAN(b)];
    assert(to != ENDED);
    if
    :: to == NOBODY -> orphan_put_back(b, sent)
    :: else -> push(to, b, sent)
    fi
  :: sent -> break
  od
}

/* lm_remote_collect_up_to for one block that was in the inbox of heap h. */
inline take_message(h, b) {
  if
#ifdef MUTANT_NO_OWNER_CHECK
  :: true ->
#else
  :: owner[SPAN(b)] == h ->
#endif
    atomic {
      put_back_count(b);
      if /* notify: a span that is empty goes back */
      :: used_count[SPAN(b)] == 0 -> end_span(SPAN(b))
      :: else
      fi
    }
#ifndef MUTANT_NO_OWNER_CHECK
  :: else -> deliver(b)
#endif
  fi
}

/* The exchange that takes the whole inbox; `mine` is then this thread's alone. */
inline take_inbox(h, closing) {
  atomic {
    i = 0;
    do
    :: i < ALL -> mine[i] = inbox[BIT(h, i)]; inbox[BIT(h, i)] = 0; i++
    :: else -> break
    od;
    i = 0;
    closed[h] = closing
  }
}

inline collect(h) {
  take_inbox(h, false);
  do
  :: i < ALL && mine[i] -> mine[i] = 0; take_message(h, i); i++
  :: i < ALL && !mine[i] -> i++
  :: i == ALL -> break
  od;
  i = 0
}

/* lm_heap_end: the last look, each span to the orphans, then the inbox is closed and its rest
 * passed on. */
inline end_heap(h) {
  collect(h);
#ifdef MUTANT_CLOSE_BEFORE_ORPHANS
  closed[h] = true;
#endif
  s = 0;
  do
  :: s < SPANS ->
    if
    :: owner[s] == h ->
      atomic {
        lock == 0 -> lock = 1;
        owner[s] = NOBODY;
        listed[s] = true;
        lock = 0
      }
    :: else
    fi;
    s++
  :: else -> break
  od;
#ifdef MUTANT_CLOSE_BEFORE_ORPHANS
  atomic { i = 0; do :: i < ALL -> inbox[BIT(h, i)] = 0; i++ :: else -> break od; i = 0 }
#else
#ifdef MUTANT_INBOX_STAYS_OPEN
  take_inbox(h, false);
#else
  take_inbox(h, true);
#endif
  do
  :: i < ALL && mine[i] ->
    mine[i] = 0;
#ifndef MUTANT_REST_IS_DROPPED
    deliver(i);
#endif
    i++
  :: i < ALL && !mine[i] -> i++
  :: i == ALL -> break
  od;
  i = 0;
#endif
  idle[h] = true
}

/* lm_orphan_adopt: the first orphan with free blocks. */
inline adopt(h) {
  atomic {
    lock == 0 -> lock = 1;
    s = 0;
    do
    :: s < SPANS && listed[s] && used_count[s] < BLOCKS ->
      assert(owner[s] == NOBODY);
      listed[s] = false;
      owner[s] = h;
      break
    :: s < SPANS && !(listed[s] && used_count[s] < BLOCKS) -> s++
    :: s == SPANS -> break
    od;
    lock = 0
  }
}

/* malloc by the owner: a free block of a span of its own, which the program holds until a freer
 * comes by. Once per thread, or the search has no end. */
inline hand_out(h) {
  atomic {
    i = 0;
    do
    :: i < ALL && owner[SPAN(i)] == h && state[i] == FREE ->
      state[i] = USED;
      used_count[SPAN(i)]++;
      held[i] = true;
      held_count++;
      i = 0;
      break
    :: i < ALL && !(owner[SPAN(i)] == h && state[i] == FREE) -> i++
    :: i == ALL -> i = 0; break
    od
  }
}

/* One thread's life with heap h. `begins`: the heap has to be taken from those that wait. */
proctype Owner(byte h; bool begins) {
  byte i = 0, s = 0, to = 0;
  bool sent = false;
  bit mine[ALL];
  if
  :: begins -> atomic { idle[h] -> idle[h] = false; closed[h] = false }
  :: else
  fi;
  do
  :: begins || h != 0 -> adopt(h); hand_out(h); collect(h); break
  :: h == 0 && !begins -> collect(h); break
  :: break
  od;
  end_heap(h);
  ended++
}

/* Frees blocks that the program holds, each once. */
proctype Freer() {
  byte b = 0, to = 0;
  bool sent = false;
  do
  :: atomic {
      held_count > 0 ->
      b = 0;
      do
      :: held[b] -> break
      :: else -> b++
      od;
      held[b] = false;
      held_count--
    };
    deliver(b)
  :: held_count == 0 && ended == 3 -> break
  od;
  done++
}

init {
  byte n = 0;
  atomic {
    do
    :: n < SPANS -> owner[n] = 0; used_count[n] = BLOCKS; n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < ALL -> held[n] = true; held_count++; n++
    :: else -> break
    od;
    run Owner(0, false);
    run Owner(0, true);
    run Owner(1, false);
    n = 0;
    do
    :: n < FREERS -> run Freer(); n++
    :: else -> break
    od;
    n = 0
  }
  done == FREERS && ended == 3 -> atomic {
    /* All owners have ended and everything was freed: every block is back, every span was given
     * back, and nothing waits in an inbox. */
    n = 0;
    do
    :: n < ALL -> assert(state[n] == FREE && !held[n]); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < SPANS -> assert(owner[n] == ENDED && used_count[n] == 0 && !listed[n]); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < HEAPS * ALL -> assert(inbox[n] == 0); n++
    :: else -> break
    od
  }
}
