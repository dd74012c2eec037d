/* Visits of a sleeping thread's heap: src/heap/visit.c.
 *
 * The heap's thread enters and leaves it with plain stores; two others park and visit it, one at a
 * time. What the thread has stored last may not have reached memory yet: it stands in a buffer that
 * drains at any time, and when all processors are ordered.
 *
 * Checked: thread and visitor are never at work on the heap at the same time; nobody waits for
 * ever.
 *
 * Sizes that are searched whole:
 *   size: -DENTRIES=2 -DVISITS=2
 *   size: -DENTRIES=3 -DVISITS=1
 *
 * -DMUTANT_... builds a bug in, which the search must find; check.sh knows them by these lines:
 *   mutant: MUTANT_NO_ORDER      processors are not ordered before the parker looks who is in
 *   mutant: MUTANT_NO_LOOK       the parker does not look who is in
 *   mutant: MUTANT_NO_CLAIM      a visitor begins without a compare-and-swap
 *   mutant: MUTANT_NO_LOOK_AGAIN the thread does not look again after it took the heap back
 *   mutant: MUTANT_NO_WAKE       a visitor does not wake the thread that waits for him
 */
#ifndef ENTRIES
#define ENTRIES 2 /* of the thread */
#endif
#ifndef VISITS
#define VISITS 2 /* of each of the visitors */
#endif

#define NOT_PARKED 0
#define PARKED 1
#define VISITED 2
#define AWAITED 3

bit entered;               /* lm_visits.entered, as it is in memory */
bit buffered, in_buffer;   /* the thread's last store to it, if it is not there yet */
byte parked;               /* lm_visits.parked */
bit asleep;                /* the thread, until it is woken */
bit lock;                  /* lm_visits_lock */
bool thread_works, visitor_works, done;

inline drain() {
  if
  :: buffered -> entered = in_buffer; buffered = 0
  :: else
  fi
}

inline store_entered(value) { atomic { drain(); buffered = 1; in_buffer = value } }

active proctype buffer() {
  do
  :: atomic { buffered -> drain() }
  :: atomic { done && !buffered -> break }
  od
}

byte seen;

inline take_back() {
  do
  :: store_entered(0);
     atomic { /* the compare-and-swap */
       if
       :: parked == PARKED -> parked = NOT_PARKED; seen = NOT_PARKED
       :: else -> seen = parked
       fi
     }
     if
     :: seen == NOT_PARKED ->
        store_entered(1);
#ifdef MUTANT_NO_LOOK_AGAIN
        break
#else
        if
        :: parked == NOT_PARKED -> break
        :: else
        fi
#endif
     :: else ->
        atomic {
          if
          :: seen == VISITED && parked == VISITED -> parked = AWAITED; seen = AWAITED
          :: else
          fi
        }
        if
        :: atomic { seen == AWAITED && parked == AWAITED -> asleep = 1 };
           !asleep
        :: else
        fi
     fi
  od
}

active proctype thread() {
  byte entries = 0;
  do
  :: entries < ENTRIES ->
     entries++;
     store_entered(1);
     if
     :: parked != NOT_PARKED -> take_back()
     :: else
     fi;
     thread_works = true;
     assert(!visitor_works);
     thread_works = false;
     store_entered(0)
  :: else -> break
  od;
  done = true
}

inline park() {
  if
  :: parked == NOT_PARKED ->
     parked = PARKED;
#ifndef MUTANT_NO_ORDER
     atomic { drain() };
#endif
#ifndef MUTANT_NO_LOOK
     if
     :: entered != 0 ->
        atomic {
          if
          :: parked == PARKED -> parked = NOT_PARKED
          :: else
          fi
        }
     :: else
     fi
#endif
  :: else
  fi
}

active [2] proctype visitor() {
  byte visits = 0;
  bool claimed;
  do
  :: visits < VISITS ->
     visits++;
     atomic { lock == 0 -> lock = 1 };
     park();
#ifdef MUTANT_NO_CLAIM
     claimed = parked == PARKED;
     if
     :: claimed -> parked = VISITED
     :: else
     fi;
#else
     atomic {
       claimed = parked == PARKED;
       if
       :: claimed -> parked = VISITED
       :: else
       fi
     };
#endif
     if
     :: claimed ->
        visitor_works = true;
        assert(!thread_works);
        visitor_works = false;
        atomic {
#ifndef MUTANT_NO_WAKE
          if
          :: parked == AWAITED -> asleep = 0
          :: else
          fi;
#endif
          parked = PARKED
        }
     :: else
     fi;
     lock = 0
  :: else -> break
  od
}
