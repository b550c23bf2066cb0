/* Threads that go to sleep in the kernel on the spine while a direction switches.
 *
 * Question: how does a thread in recv(2) or poll(2) on the spine, or on its way there, learn that
 * the bytes now come by the ring?
 *
 * The proof, which arrives on the spine, wakes it. A kernel looks again whether there is something
 * to read before it lets a sleeper go: so the proof must lie there until all sleepers have left.
 * They are counted. Looking at the stream, and taking the proof off, are done under the receiving
 * half's lock.
 *
 * Rules that can be switched off:
 *   TAKE_AT_ONCE  the proof is taken off without a look at the count.
 *   COUNT_LATE    a thread looks at the stream, and counts itself only afterwards. Between the two
 *                 another thread may see the proof, find the count zero and take the proof off:
 *                 the first one then sleeps on a spine on which nothing will ever come.
 *
 * Result (states): all rules pass (1,782), both others fail.
 */
#define THREADS 2

bool proof_on_spine = false;
bool tail_visible = false;      /* A byte lies in the ring. It is never consumed here. */
bool accelerated = false;       /* The path, under the lock. */
byte watchers = 0;
byte generation = 0;            /* Of our own wake-up. */
byte served = 0;

/* One attempt, as any thread makes it under the lock. */
inline look()
{
    atomic {
        if
        :: !accelerated && proof_on_spine -> accelerated = true; generation++
        :: else
        fi;
#ifdef TAKE_AT_ONCE
        if
        :: accelerated && proof_on_spine -> proof_on_spine = false
        :: else
        fi
#else
        if
        :: accelerated && proof_on_spine && watchers == 0 -> proof_on_spine = false
        :: else
        fi
#endif
    }
}

active [THREADS] proctype reader()
{
    byte before;
    bool on_spine;

    do
    :: true ->
       before = generation;
       atomic { look(); on_spine = !accelerated };
       if
       :: !on_spine && tail_visible -> break
       :: !on_spine && !tail_visible ->
          /* Our own wait: doorbell.pml shows that it loses nothing. */
          tail_visible || generation != before
       :: on_spine ->
          watchers++;
#ifndef COUNT_LATE
          /* Once more, now that it is counted. */
          atomic { on_spine = !accelerated };
#endif
          if
          :: on_spine -> proof_on_spine          /* Asleep in the kernel. */
          :: else
          fi;
          watchers--
       fi
    od;
    served++
}

active proctype sender()
{
    proof_on_spine = true;
    tail_visible = true
}

/* The service thread, which looks when it likes. */
active proctype service()
{
end:do
    :: (!accelerated && proof_on_spine) || (accelerated && proof_on_spine && watchers == 0) ->
       look()
    od
}

ltl all_served { <> (served == THREADS && !proof_on_spine) }
