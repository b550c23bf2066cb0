/* A sender goes over to larger rings, and back to the first one.
 *
 * Question: when may the sender change again, and when may the receiver free a
 * ring, so that each byte is read from the ring that it was written to?
 *
 * The words ring_from and ring_number are visible before any byte that lies in
 * the new ring (the tail is set after them). The receiver looks at them only
 * when it finds a byte. One ring besides the first is offered at a time.
 *
 * Rules that can be switched off:
 *   CHANGE_AT_ONCE   the sender changes again whenever it likes.
 *   CHANGE_WHEN_HEAD_IS_THERE  it changes again when the receiver has consumed
 *                    everything up to the last change, which need not mean that
 *                    it has seen it.
 *   FREE_EARLY       the receiver frees a ring when it sees the change, not when
 *                    it has read up to it.
 */
#define N 4
#define RINGS 4

/* The ring into which each byte was written; the sender's last change. */
byte where[N];
byte tail = 0, head = 0;
byte ring_from = 0, ring_number = 0;
byte offered = 0;               /* The newest ring offered. */
bool freed[RINGS];

active proctype sender()
{
    byte current = 0, from = 0, taken = 0;
    bool changed = false;

end:do
    :: atomic { tail < N -> assert(!freed[current]); where[tail] = current; tail++ }
#ifdef CHANGE_AT_ONCE
    :: atomic { tail < N && offered > taken ->
#else
#ifdef CHANGE_WHEN_HEAD_IS_THERE
    :: atomic { tail < N && offered > taken && (!changed || head >= from) ->
#else
    :: atomic { tail < N && offered > taken && (!changed || head > from) ->
#endif
#endif
                taken = offered; current = offered; from = tail; changed = true;
                ring_from = from; ring_number = current }
#ifdef CHANGE_AT_ONCE
    :: atomic { tail < N && current != 0 ->
#else
#ifdef CHANGE_WHEN_HEAD_IS_THERE
    :: atomic { tail < N && current != 0 && (!changed || head >= from) ->
#else
    :: atomic { tail < N && current != 0 && (!changed || head > from) ->
#endif
#endif
                current = 0; from = tail; changed = true; ring_from = from; ring_number = 0 }
    od
}

active proctype receiver()
{
    byte rcv_nxt = 0, current = 0, next = 0, next_from = 0;
    bool has_next = false, offer_open = false;

end:do
    :: atomic { !offer_open && !has_next && offered < RINGS - 1 ->
                offered++; offer_open = true }
    :: atomic { rcv_nxt < tail ->
                /* A byte: look whether there is a new ring. */
                if
                :: !has_next && ring_number != current ->
                   has_next = true; next = ring_number; next_from = ring_from;
                   assert(next_from >= rcv_nxt);
                   if :: next == offered -> offer_open = false :: else fi;
#ifdef FREE_EARLY
                   if :: current != 0 -> freed[current] = true :: else fi
#endif
                :: else
                fi;
                if
                :: has_next && rcv_nxt == next_from ->
#ifndef FREE_EARLY
                   if :: current != 0 -> freed[current] = true :: else fi;
#endif
                   current = next; has_next = false
                :: else
                fi;
                assert(!freed[current]);
                assert(where[rcv_nxt] == current);
                rcv_nxt++ };
       head = rcv_nxt
    od
}

ltl all_read { <> (head == N) }
