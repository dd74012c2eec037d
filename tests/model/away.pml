/* A span whose pages are looked at without its central's lock, while others put blocks: take_away,
 * make_holes and bring_back of src/central/holes.c, and put_one, lm_central_list_span and lm_span_end
 * beside them.
 *
 * One span of BLOCKS blocks, each on a page of its own, all of which the program has at the start.
 * Putters put them, a taker takes some again, and LOOKERS look at the span: it is on no list
 * meanwhile. A page on which no block is goes back to the system, and its block is in a hole, on no
 * list, until that is filled. What is empty ends, with no lock held: others of its class have free
 * blocks, so that it is not kept.
 *
 * A step is atomic where the code is: what is done under the lock is one, since nobody else looks, but
 * for what may be done without it.
 *
 * Checked: no page of a block goes that the program has, or that is on the span's list; a block is on
 * one list at most, and the span, too; what is taken is on a page that is there; a span ends once,
 * with no block used and nobody who looks at it; when all blocks have been put, it has ended.
 *
 * Sizes that are searched whole, and one that takes long:
 *   size: -DBLOCKS=2 -DLOOKERS=1
 *   size: -DBLOCKS=3 -DLOOKERS=1
 *   size: -DBLOCKS=2 -DLOOKERS=2
 *   long size: -DBLOCKS=3 -DLOOKERS=2
 *
 * -DMUTANT_... builds a bug in, which the search must find; check.sh knows them by these lines:
 *   mutant: MUTANT_PUT_ENDS_IT      who puts the last block ends the span, though it is away
 *   mutant: MUTANT_PUT_LISTS_IT     who puts the first block lists the span, though it is away
 *   mutant: MUTANT_LISTED_MEANWHILE the span stays on its list while it is away
 *   mutant: MUTANT_ALL_ARE_LOOKED_AT what was put meanwhile is linked, too
 *   mutant: MUTANT_LIST_REPLACED    the list that comes back takes the place of what was put
 *   mutant: MUTANT_EMPTY_IS_LISTED  one that is empty when it is back is listed all the same
 *   mutant: MUTANT_HOLES_STAY_LISTED blocks of holes stay on the list
 *   mutant: MUTANT_ENDED_LOCKLESS   who finds it empty unlocks before he takes it off its list
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef LOOKERS
#define LOOKERS 1
#endif

#define BIT(i) (1 << (i))
#define ALL (BIT(BLOCKS) - 1)
#define IS_IN(set, i) (((set) >> (i)) & 1)

/* Of the span, under the lock; sets of blocks. */
byte used = ALL;       /* that the program has */
byte listed;           /* on its free_list */
byte hole_blocks;      /* in holes */
bit on_list = 1;       /* of the central's: full, usable or roomy */
bit is_away;
bit locked;

/* Of the system and of who looks. */
byte gone_pages;       /* given back */
byte looker_count;     /* that look at it without the lock */
byte taken_away;       /* blocks that they link, of all of them */
byte ended_count;
byte done;

#define LOCK atomic { !locked -> locked = 1 }

/* lm_central_list_span; `ends`: it is the caller's to end. */
inline list_span() {
  ends = 0;
  if
  :: used == 0 ->
    on_list = 0;
    ends = 1
  :: else -> on_list = 1
  fi
}

/* lm_span_end, with no lock held. */
inline end_span() {
  if
  :: ends ->
    atomic {
      assert(used == 0 && looker_count == 0 && !on_list);
      ended_count++;
      assert(ended_count == 1)
    }
  :: else
  fi;
  ends = 0
}

inline check_lists() {
  assert((listed & hole_blocks) == 0);
  assert((listed & used) == 0 && (hole_blocks & used) == 0);
  assert((listed & taken_away) == 0 && (used & taken_away) == 0);
  assert((listed & gone_pages) == 0)
}

/* put_one and list_after_put */
inline put(block) {
  LOCK;
  atomic {
    assert(IS_IN(used, block) && ended_count == 0);
    was_empty = (listed == 0);
    used = used & ~BIT(block);
    listed = listed | BIT(block);
    ends = 0;
    if
    :: used == 0 || was_empty ->
      if
#if !defined(MUTANT_PUT_ENDS_IT) && !defined(MUTANT_PUT_LISTS_IT)
      :: is_away
#endif
#ifdef MUTANT_PUT_LISTS_IT
      :: is_away && used == 0
      :: is_away && used != 0 -> on_list = 1
#endif
#ifdef MUTANT_PUT_ENDS_IT
      :: is_away && used != 0
      :: is_away && used == 0 -> list_span()
#endif
      :: !is_away ->
#ifdef MUTANT_ENDED_LOCKLESS
        if
        :: used == 0 -> ends = 1
        :: else -> list_span()
        fi
#else
        list_span()
#endif
      fi
    :: else
    fi;
    check_lists();
    locked = 0
  }
#ifdef MUTANT_ENDED_LOCKLESS
  if
  :: ends -> on_list = 0
  :: else
  fi;
#endif
  end_span()
}

proctype Putter(byte block) {
  bit was_empty = 0, ends = 0;
  put(block);
  done++
}

/* take_of_spans: a block of the list or, if there is none, of a hole, which is filled. Then it is put
 * again. */
proctype Taker() {
  byte block = BLOCKS, i = 0;
  bit was_empty = 0, ends = 0;
  LOCK;
  atomic {
    if
    :: on_list && listed == 0 && hole_blocks != 0 ->
      listed = hole_blocks;
      gone_pages = gone_pages & ~hole_blocks; /* they are fetched again when they are written to */
      hole_blocks = 0
    :: else
    fi;
    i = 0;
    do
    :: i < BLOCKS && on_list && IS_IN(listed, i) -> block = i; break
    :: i < BLOCKS && !(on_list && IS_IN(listed, i)) -> i++
    :: i == BLOCKS -> break
    od;
    if
    :: block != BLOCKS ->
      listed = listed & ~BIT(block);
      used = used | BIT(block);
      assert(!IS_IN(gone_pages, block))
    :: else
    fi;
    check_lists();
    locked = 0
  }
  if
  :: block != BLOCKS -> put(block)
  :: else
  fi;
  done++
}

/* make_holes_in */
proctype Looker() {
  byte first = 0, holes = 0, gives = 0;
  bit ends = 0, found = 0;
  LOCK;
  atomic {
    found = on_list;
    if
    :: found -> /* take_away */
#ifndef MUTANT_LISTED_MEANWHILE
      on_list = 0;
#endif
      is_away = 1;
      first = listed;
      holes = hole_blocks;
      taken_away = first;
      listed = 0;
      looker_count++
    :: else
    fi;
    locked = 0
  }
  if
  :: found ->
    /* make_holes: pages on which no block is that anybody has. */
#ifdef MUTANT_ALL_ARE_LOOKED_AT
    atomic { first = first | listed };
#endif
    /* Any of them, or none: the span may not be worth it, and the system may refuse some. */
    if
    :: gives = first
    :: gives = first & BIT(0)
    :: gives = 0
    fi;
    atomic {
      assert((used & gives) == 0);
      assert(ended_count == 0);
      gone_pages = gone_pages | gives;
      holes = holes | gives;
#ifndef MUTANT_HOLES_STAY_LISTED
      first = first & ~gives
#endif
    }
    LOCK;
    atomic { /* bring_back */
      assert(ended_count == 0 && is_away && !on_list); /* or it would be on two */
      looker_count--;
      taken_away = 0;
      is_away = 0;
      hole_blocks = holes;
      assert((listed & first) == 0);
#ifdef MUTANT_LIST_REPLACED
      listed = first;
#else
      listed = listed | first;
#endif
#ifdef MUTANT_EMPTY_IS_LISTED
      on_list = 1;
#else
      list_span();
#endif
      check_lists();
      assert((listed | hole_blocks | used) == ALL);
      locked = 0
    }
    end_span()
  :: else
  fi;
  done++
}

init {
  byte n = 0;
  atomic {
    do
    :: n < BLOCKS -> run Putter(n); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < LOOKERS -> run Looker(); n++
    :: else -> break
    od;
    run Taker()
  }
  done == BLOCKS + LOOKERS + 1;
  assert(used == 0 && !is_away && looker_count == 0 && !on_list);
  assert(ended_count == 1)
}
