/* One direction goes back from the ring to the spine; either end may want it,
 * also while the direction is still switching, and it may have ended.
 *
 * Question: in which order must things happen so that the receiver gets every
 * byte once and in order, and the end of the stream after the last one?
 *
 * The sender switched at offset 0 and owes the proof until switch_seen is
 * visible. At any moment it goes back to the spine, by itself or because the
 * receiver asked (stop_wanted): for this direction that is the same. The program
 * ends the stream after its last byte: in the ring by fin_at, on the spine by the
 * spine's FIN.
 *
 * Rules that can be switched off:
 *   PROOF_SKIPPED  after stop_at the sender forgets about the proof it owes.
 *   NO_DRAIN       the receiver goes to the spine as soon as it sees stop_at.
 *   PROOF_STAYS    the receiver goes to the spine without taking the proof off.
 *   FIN_AT_ONCE    the receiver takes fin_at for the end wherever it stands.
 */
#define N 3
#define PROOF 100
#define END 101                 /* The FIN of the spine. */
#define UNSET 50

mtype = { switching, accelerated, tcp };

chan spine = [4] of { byte };
chan ring = [2] of { byte };

/* Words become visible at some time after they were set. */
bool seen = false, seen_visible = false;
byte stop_at = UNSET, stop_visible = UNSET;
byte fin_at = UNSET, fin_visible = UNSET;

byte snd_nxt = 0, rcv_nxt = 0;
bool back_on_spine = false;     /* As the receiver sees it. */
bool ended = false;             /* The program has seen the end of the stream. */
bool proof_on_spine = false;    /* Seen, and not yet taken off. */

active proctype link()
{
end:do
    :: seen && !seen_visible -> seen_visible = true
    :: stop_visible != stop_at -> stop_visible = stop_at
    :: fin_visible != fin_at -> fin_visible = fin_at
    od
}

active proctype sender()
{
    bool in_ring = true, owes_proof = true, finished = false, fin_sent = false;

end:do
    :: in_ring && snd_nxt < N && nfull(ring) -> ring!snd_nxt; snd_nxt++
    :: atomic { in_ring && snd_nxt == N && !finished -> finished = true; fin_at = snd_nxt }
    :: owes_proof && seen_visible && nfull(spine) -> spine!PROOF; owes_proof = false
    :: atomic { in_ring -> in_ring = false; stop_at = snd_nxt }
#ifdef PROOF_SKIPPED
    :: atomic { !in_ring && owes_proof -> owes_proof = false }
#endif
    :: !in_ring && !owes_proof && snd_nxt < N && nfull(spine) -> spine!snd_nxt; snd_nxt++
    :: atomic { !in_ring && snd_nxt == N && !finished -> finished = true }
    :: !in_ring && !owes_proof && finished && !fin_sent && nfull(spine) ->
       spine!END; fin_sent = true
    od
}

inline deliver(x)
{
    assert(!ended);
    assert(x == rcv_nxt);
    rcv_nxt++
}

inline see_end()
{
    assert(rcv_nxt == N);
    ended = true
}

active proctype receiver()
{
    byte x;
    mtype path = switching;

end:do
    :: !seen -> seen = true
    :: atomic { path == switching && nempty(spine) && seen ->
                assert(spine?[PROOF]);
                proof_on_spine = true; path = accelerated }
    :: atomic { proof_on_spine && path != tcp -> spine?x; proof_on_spine = false }
    :: atomic { path == accelerated && nempty(ring) -> ring?x; deliver(x) }
#ifdef FIN_AT_ONCE
    :: atomic { path == accelerated && fin_visible != UNSET && !ended -> see_end() }
#else
    :: atomic { path == accelerated && fin_visible == rcv_nxt && !ended -> see_end() }
#endif
#ifdef NO_DRAIN
    :: atomic { path == accelerated && stop_visible != UNSET && !proof_on_spine ->
                path = tcp; back_on_spine = true }
#else
#ifdef PROOF_STAYS
    :: atomic { path == accelerated && stop_visible == rcv_nxt ->
                path = tcp; back_on_spine = true }
#else
    :: atomic { path == accelerated && stop_visible == rcv_nxt && !proof_on_spine ->
                path = tcp; back_on_spine = true }
#endif
#endif
    :: atomic { path == tcp && nempty(spine) -> spine?x;
                if
                :: x == END && !ended -> see_end()
                :: x == END && ended
                :: x != END -> deliver(x)
                fi }
    od
}

ltl comes_and_ends { <> (rcv_nxt == N && ended && back_on_spine) }
