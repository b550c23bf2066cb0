/* Waking without a system call while nobody sleeps.
 *
 * Question: which steps are needed so that a sleeper never misses a word that
 * was set, when both processors may hold back their stores (as x86 does)?
 *
 * Each process has one store buffer of one entry for the word that it writes; it
 * drains at any time, and a fence waits until it has. Reads of the own word see
 * the buffer, reads of the other's see memory. Clearing `interest` is an atomic
 * exchange, which is a fence as well.
 *
 * Rules that can be switched off:
 *   NO_FENCE_WAKER    the waker reads the interest without a fence.
 *   NO_FENCE_SLEEPER  the sleeper looks at the word without a fence.
 *   NO_RECHECK        the sleeper does not look at the word again.
 */
#define ROUNDS 2

byte word = 0;                  /* In memory; written by the waker. */
byte word_buffer = 0;
bool word_held = false;

bool interest = false;          /* In memory; set by the sleeper. */
bool interest_held = false;     /* A store of true is in the sleeper's buffer. */

bool asleep = false;            /* In FUTEX_WAIT. */
byte seen = 0;

active proctype memory()
{
end:do
    :: atomic { word_held -> word = word_buffer; word_held = false }
    :: atomic { interest_held -> interest = true; interest_held = false }
    od
}

active proctype waker()
{
    byte value = 0;
    bool was_set;

    do
    :: value < ROUNDS ->
       value++;
       atomic { !word_held -> word_buffer = value; word_held = true };
#ifndef NO_FENCE_WAKER
       !word_held;
#endif
       if
       :: interest ->
          /* The exchange drains this processor's buffer, too. */
          atomic { !word_held -> was_set = interest; interest = false };
          if
          :: was_set -> asleep = false        /* FUTEX_WAKE */
          :: else
          fi
       :: else
       fi
    :: value == ROUNDS -> break
    od
}

active proctype sleeper()
{
    do
    :: seen == ROUNDS -> break
    :: seen < ROUNDS && word > seen -> seen = word
    :: seen < ROUNDS && word == seen ->
       atomic { !interest_held -> interest_held = true };
#ifndef NO_FENCE_SLEEPER
       !interest_held;
#endif
#ifndef NO_RECHECK
       if
       :: word > seen -> goto awake
       :: else
       fi;
#endif
       /* The kernel compares the value and goes to sleep in one step. A store that
        * is still held back counts as made: the system call drains it. */
       atomic { !interest_held;
                if
                :: interest -> asleep = true
                :: else
                fi };
       !asleep;
awake: skip
    od
}

ltl all_seen { <> (seen == ROUNDS) }
