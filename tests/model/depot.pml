/* Lists that go from thread to thread through depots: src/central/depot.c.
 *
 * LISTS lists of blocks of one class and CENTRALS centrals with a depot each, which has room for ROOM
 * lists. A thread takes a list out of its own central's depot, or of another's that is noted to have
 * some, for whose lock it waits, or the blocks of one out of their spans; and gives it to its own
 * depot, or, where that is locked, to the other one, or puts it back where it came from. The clock
 * ages all depots. (A part of a list that is taken, and what is left, are lists here.)
 *
 * A step is atomic where the code is: one load, one store, one read-modify-write, or taking a lock.
 * What is done under a lock is done in several steps, so that who does not take it is found. What is in
 * the blocks belongs to who holds the list.
 *
 * Checked: a list is held by one thread, or stands in one depot, or is at home, and is not lost; the
 * count of a depot is that of its lists; and with a depot's lock one knows that it is noted if it has
 * any, so that nobody takes new spans for ever while lists are there.
 *
 * Sizes that are searched whole, and some that take long:
 *   size: -DLISTS=2 -DCENTRALS=1 -DTHREADS=2 -DROOM=1
 *   size: -DLISTS=2 -DCENTRALS=2 -DTHREADS=2 -DROOM=1
 *   size: -DLISTS=2 -DCENTRALS=2 -DTHREADS=2 -DROOM=2
 *   long size: -DLISTS=2 -DCENTRALS=1 -DTHREADS=3 -DROOM=2
 *   long size: -DLISTS=3 -DCENTRALS=2 -DTHREADS=2 -DROOM=2
 *
 * -DMUTANT_... builds a bug in, which the search must find; check.sh knows them by these lines:
 *   mutant: MUTANT_TAKE_UNLOCKED     a list is taken without the depot's lock
 *   mutant: MUTANT_GIVE_UNLOCKED     a list is given without it
 *   mutant: MUTANT_COUNT_IS_TRUSTED  who has seen a list without the lock expects it with it
 *   mutant: MUTANT_UNNOTED_LATE      the note goes after the lock has been freed
 *   mutant: MUTANT_NOTED_FIRST       the note is made before the depot is locked
 *   mutant: MUTANT_REFUSED_IS_KEPT   a list without room is put back, and given, too
 *   mutant: MUTANT_OWN_LOCK_KEPT     the own depot's lock is held while another's is waited for
 */
#ifndef LISTS
#define LISTS 2
#endif
#ifndef CENTRALS
#define CENTRALS 2
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROOM
#define ROOM 1
#endif

#define HOME 0
#define HELD 1
#define PLACED 2

byte first[CENTRALS];       /* of a depot's lists, from 1 on; 0: it has none */
byte next_list[LISTS + 1];
byte list_count[CENTRALS];
bit noted[CENTRALS];
bit locked[CENTRALS];
byte state[LISTS + 1];
byte done;

inline go(from, to) {
  assert(list > 0 && list <= LISTS && state[list] == from);
  state[list] = to
}

inline lock(c) { atomic { !locked[c] -> locked[c] = 1 } }
inline unlock(c) {
  assert(locked[c]);
  assert(first[c] == 0 || noted[c]);
  locked[c] = 0
}

/* pop_list: `list` is 0 if there is none. */
inline pop_list(c) {
  list = first[c];
  if
  :: list != 0 ->
    first[c] = next_list[list];
    next_list[list] = 0;
    assert(list_count[c] > 0);
    list_count[c] = list_count[c] - 1;
    atomic { assert((list_count[c] == 0) == (first[c] == 0)); go(PLACED, HELD) }
  :: else
  fi
}

/* push_list, of a depot that has room. */
inline push_list(c) {
  next_list[list] = first[c];
  first[c] = list;
  list_count[c] = list_count[c] + 1;
  atomic { go(HELD, PLACED); list = 0 };
#ifndef MUTANT_NOTED_FIRST
  noted[c] = 1
#endif
}

/* lm_depot_take */
inline take_own() {
  if
#ifdef MUTANT_OWN_LOCK_KEPT
  :: true ->
#else
  :: list_count[own] != 0 ->
#endif
#ifndef MUTANT_TAKE_UNLOCKED
    lock(own);
#endif
    pop_list(own);
#ifdef MUTANT_COUNT_IS_TRUSTED
    assert(list != 0);
#endif
#ifdef MUTANT_OWN_LOCK_KEPT
    if
    :: list != 0 || !noted[other] -> unlock(own)
    :: else -> lock(other); unlock(other); unlock(own)
    fi
#else
#ifndef MUTANT_TAKE_UNLOCKED
    unlock(own)
#endif
  :: else
#endif
  fi
}

/* lm_depot_take_elsewhere; with two centrals there is one other, which is the last to be waited
 * for. */
inline take_elsewhere() {
  if
  :: list == 0 && CENTRALS == 2 && noted[other] ->
    lock(other);
    pop_list(other);
#ifdef MUTANT_UNNOTED_LATE
    unlock(other);
    if
    :: list == 0 -> noted[other] = 0
    :: else
    fi
#else
    if
    :: list == 0 -> noted[other] = 0
    :: else
    fi;
    unlock(other)
#endif
  :: else
  fi
}

/* Any list that is at home: its blocks are taken out of their spans. */
inline take_new() {
  atomic {
    i = 1;
    do
    :: list == 0 && i <= LISTS && state[i] == HOME -> list = i; go(HOME, HELD)
    :: list == 0 && i <= LISTS && state[i] != HOME -> i++
    :: else -> break
    od;
    i = 0
  }
}

/* lm_central_enter, and lm_depot_give. */
inline give() {
#ifdef MUTANT_NOTED_FIRST
  noted[own] = 1;
#endif
  into = own;
#ifndef MUTANT_GIVE_UNLOCKED
  atomic {
    if
    :: !locked[own] -> locked[own] = 1
    :: locked[own] && CENTRALS == 2 && !locked[other] -> into = other; locked[other] = 1
    :: else -> !locked[own] -> locked[own] = 1
    fi
  }
#endif
  if
  :: list_count[into] < ROOM ->
    push_list(into)
#ifdef MUTANT_REFUSED_IS_KEPT
  :: list_count[into] >= ROOM && list_count[into] < LISTS ->
    i = list;
    push_list(into);
    list = i; i = 0
#endif
  :: else
  fi;
#ifndef MUTANT_GIVE_UNLOCKED
  unlock(into);
#endif
  if
  :: list != 0 -> atomic { go(HELD, HOME); list = 0 }
  :: else
  fi
}

proctype Thread(byte own) {
  byte list = 0, i = 0, into = 0, turn = 0;
  byte other = (own + 1) % CENTRALS;
  do
  :: turn < 2 ->
    take_own();
    take_elsewhere();
    take_new();
    if
    :: list != 0 -> give()
    :: else
    fi;
    turn++
  :: else -> break
  od;
  done++
}

/* lm_depot_age, of all depots, one list after the other. */
proctype Clock() {
  byte list = 0, c = 0;
  do
  :: c < CENTRALS ->
    lock(c);
    pop_list(c);
    unlock(c);
    if
    :: list != 0 -> atomic { go(HELD, HOME); list = 0 }
    :: else -> c++
    fi
  :: else -> break
  od;
  done++
}

init {
  byte n = 0, list = 0, count = 0;
  atomic {
    do
    :: n < THREADS -> run Thread(n % CENTRALS); n++
    :: else -> break
    od;
    run Clock()
  }
  done == THREADS + 1;
  n = 0;
  do
  :: n < CENTRALS ->
    assert(!locked[n] && (first[n] == 0 || noted[n]));
    count = 0;
    list = first[n];
    do
    :: list != 0 -> go(PLACED, HOME); count++; list = next_list[list]
    :: else -> break
    od;
    assert(count == list_count[n] && count <= ROOM);
    n++
  :: else -> break
  od;
  n = 1;
  do
  :: n <= LISTS -> assert(state[n] == HOME); n++
  :: else -> break
  od
}
