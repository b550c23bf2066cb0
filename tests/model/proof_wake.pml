/* Threads that sleep in the kernel on the spine while a direction switches.
 *
 * Question: how does a thread that went to sleep in poll(2) or recv(2) on the
 * spine, before the switchover, learn that the bytes now come by the ring?
 *
 * The proof, which arrives on the spine, wakes it. But a kernel looks again
 * whether there is something to read before it lets a sleeper go: so the proof
 * must lie there until all sleepers have left. They are counted.
 *
 * Rule that can be switched off:
 *   TAKE_AT_ONCE  the receiver takes the proof off the spine as soon as it has
 *                 seen it.
 */
#define SLEEPERS 2

bool proof_on_spine = false;
bool ring_has_byte = false;
byte watchers = SLEEPERS;
byte awake = 0;
bool woken[SLEEPERS];           /* The kernel has made the thread runnable. */

/* A thread of the program, asleep in the kernel since before the switchover. */
active [SLEEPERS] proctype sleeper()
{
    do
    :: woken[_pid] ->
       woken[_pid] = false;
       /* The kernel looks again, and puts it back to sleep if there is nothing. */
       if
       :: proof_on_spine -> break
       :: else
       fi
    od;
    watchers--;
    /* From here on it waits for the stream itself, wherever its bytes come. */
    ring_has_byte;
    awake++
}

active proctype sender()
{
    atomic { proof_on_spine = true; woken[0] = true; woken[1] = true };
    ring_has_byte = true
}

active proctype receiver()
{
    proof_on_spine;             /* It looks, and leaves it there. */
#ifndef TAKE_AT_ONCE
    watchers == 0;
#endif
    proof_on_spine = false
}

ltl all_wake { <> (awake == SLEEPERS && !proof_on_spine) }
