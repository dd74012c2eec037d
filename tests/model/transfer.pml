/* Transfers between heaps: src/heap/transfer.c.
 *
 * LISTS lists of blocks, each held by a heap at the start, and PLACES places of one class. A giver
 * puts its list into a place that is empty, or sends it home where there is none; a taker empties a
 * place, and gives the list once more; the clock's rounds mark what they see and send home what is
 * marked; who trims sends home all that is there.
 *
 * An action is atomic where the code is: one load, one compare-and-swap or one exchange. What is in
 * the blocks belongs to who holds the list; that it is seen is what release and acquire are for,
 * which this search does not know.
 *
 * Checked: a list is held by one heap, or stands in one place, or has gone home, and is not lost.
 *
 * Sizes that are searched whole, and one that takes long:
 *   size: -DLISTS=2 -DPLACES=1
 *   size: -DLISTS=2 -DPLACES=2
 *   long size: -DLISTS=3 -DPLACES=2
 *
 * -DMUTANT_... builds a bug in, which the search must find; check.sh knows them by these lines:
 *   mutant: MUTANT_FILL_BY_STORE    a place that was seen empty is stored to
 *   mutant: MUTANT_EMPTY_BY_STORE   a place is read, and then stored to
 *   mutant: MUTANT_MARK_BY_STORE    a mark is stored to the place
 *   mutant: MUTANT_MARK_STAYS       who takes a list takes the mark with it
 */
#ifndef LISTS
#define LISTS 2
#endif
#ifndef PLACES
#define PLACES 1
#endif
#define MARK 8
#define LIST(value) ((value) % MARK)

#define HELD 0
#define PLACED 1
#define HOME 2

byte place[PLACES];   /* 0: empty; the number of a list, from 1 on, and MARK */
byte state[LISTS + 1];
byte done;

inline go(from, to) {
  assert(list > 0 && list <= LISTS && state[list] == from);
  state[list] = to
}

/* lm_transfer_give */
inline give() {
  i = 0;
  do
  :: i < PLACES ->
    seen = place[i];
    if
    :: seen == 0 ->
      atomic {
#ifdef MUTANT_FILL_BY_STORE
        if
        :: true ->
#else
        if
        :: place[i] == 0 ->
#endif
          place[i] = list; go(HELD, PLACED); list = 0
#ifndef MUTANT_FILL_BY_STORE
        :: else
#endif
        fi
      }
    :: else
    fi;
    if
    :: list == 0 -> break
    :: else -> i++
    fi
  :: i == PLACES -> go(HELD, HOME); list = 0; break
  od
}

/* empty_place: `list` is what stood there, 0 if nothing. */
inline empty_place(to) {
  list = 0;
  seen = place[i];
  if
  :: seen != 0 ->
#ifdef MUTANT_EMPTY_BY_STORE
    list = seen;
    atomic { place[i] = 0; list = LIST(list); go(PLACED, to) }
#else
    atomic {
      list = place[i];
      place[i] = 0;
#ifndef MUTANT_MARK_STAYS
      list = LIST(list);
#endif
      if
      :: list != 0 -> go(PLACED, to)
      :: else
      fi
    }
#endif
  :: else
  fi
}

/* A heap that takes what it finds, and gives it again. */
proctype Taker() {
  byte i = 0, seen = 0, list = 0;
  do
  :: i < PLACES ->
    empty_place(HELD);
    if
    :: list != 0 -> break
    :: else -> i++
    fi
  :: i == PLACES -> break
  od;
  if
  :: list != 0 -> give()
  :: else
  fi;
  done++
}

proctype Giver(byte list) {
  byte i = 0, seen = 0;
  give();
  done++
}

/* Two rounds of lm_transfer_look. */
proctype Clock() {
  byte i = 0, seen = 0, list = 0, round = 0;
  do
  :: round < 2 && i < PLACES ->
    seen = place[i];
    if
    :: seen == 0
    :: seen >= MARK -> empty_place(HOME)
    :: else ->
      atomic {
#ifdef MUTANT_MARK_BY_STORE
        place[i] = seen + MARK
#else
        if
        :: place[i] == seen -> place[i] = seen + MARK
        :: else
        fi
#endif
      }
    fi;
    i++
  :: round < 2 && i == PLACES -> i = 0; round++
  :: round == 2 -> break
  od;
  done++
}

init {
  byte n = 1, i = 0, seen = 0, list = 0;
  atomic {
    do
    :: n <= LISTS -> run Giver(n); n++
    :: else -> break
    od;
    run Taker();
    run Taker();
    run Clock()
  }
  done == LISTS + 3;
  /* lm_transfer_send_all */
  do
  :: i < PLACES -> empty_place(HOME); i++
  :: else -> break
  od;
  n = 1;
  do
  :: n <= LISTS -> assert(state[n] == HOME); n++
  :: else -> break
  od
}
