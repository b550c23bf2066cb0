/* Threads that wait for bytes while a direction that has just switched goes back to the spine.
 *
 * Question: does every thread learn that the direction is on the spine again?
 *
 * The proof still lies on the spine, since a thread that it woke has not left the kernel; stop_at
 * is set; bytes for both threads follow on the spine. A thread that can't take the proof off waits
 * as for the ring. One that waits there is woken by a word that the other end sets, or by a change
 * of the path, and not by bytes on the spine.
 *
 * Rule that can be switched off:
 *   PATH_SILENT  a thread that changes the path in an attempt of its own wakes nobody.
 *
 * Result (states): all rules pass (1,347); PATH_SILENT fails: a thread sleeps for ever, with its
 * byte on the spine.
 */
#define THREADS 2

bool proof_on_spine = true;     /* And the direction has switched: it has been seen. */
bool stop_visible = false;
byte spine_bytes = 0;           /* Behind the proof. */
bool back = false;              /* The path is the spine again. */
byte watchers = 1;              /* Thread 0 sleeps in the kernel on the spine. */
byte generation = 0;            /* Of words and of wake-ups. */
byte served = 0;

active [THREADS] proctype reader()
{
    byte before;
    bool got = false, kernel = false;

    if
    :: _pid == 0 -> proof_on_spine || spine_bytes > 0; watchers--
    :: else
    fi;
    do
    :: got -> break
    :: else ->
       before = generation;
       /* One attempt under the lock. */
       atomic {
           if
           :: !back && stop_visible && proof_on_spine && watchers == 0 -> proof_on_spine = false
           :: else
           fi;
           if
           :: !back && stop_visible && !proof_on_spine ->
              back = true;
#ifndef PATH_SILENT
              generation++
#endif
           :: else
           fi;
           if
           :: back && spine_bytes > 0 -> spine_bytes--; got = true
           :: else
           fi;
           kernel = back
       };
       if
       :: got
       :: !got && kernel -> spine_bytes > 0       /* It goes by the count, as proof_wake.pml says. */
       :: !got && !kernel -> generation != before
       fi
    od;
    served++
}

active proctype sender()
{
    atomic { stop_visible = true; generation++ };
    spine_bytes++;
    spine_bytes++
}

ltl all_served { <> (served == THREADS) }
