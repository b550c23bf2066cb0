/* Both directions of a connection go from the spine to rings, the connecting
 * end's first, with a reset at any moment.
 *
 * Question: what makes sure that no reader takes the proof, which is written
 * into the spine behind the last byte of the stream there, for stream bytes?
 *
 * A read of the spine is two steps: decide how many bytes may be taken, then
 * take them. A word (switch_at, switch_seen) becomes visible to the other end
 * some time after it was set, in no order with the bytes on the spine.
 *
 * Rules that can be switched off:
 *   NO_SEEN     the sender writes the proof without waiting for switch_seen.
 *   SEEN_EARLY  the receiver sets switch_seen while a read is under way that
 *               may go past switch_at.
 */
#define N 2
#define PROOF 100
#define NO_LIMIT 50

#ifdef SEEN_EARLY
#define MAY_NOTICE true
#else
#define MAY_NOTICE !reading[d]
#endif

mtype = { tcp, switching, accelerated };

chan spine0 = [3] of { byte };
chan spine1 = [3] of { byte };
chan ring0 = [2] of { byte };
chan ring1 = [2] of { byte };

byte switch_at[2];
bool switch_set[2], switch_visible[2];   /* The sender's word.   */
bool seen_set[2], seen_visible[2];       /* The receiver's word. */

mtype rx_path[2] = tcp;
bool reading[2];
bool proven[2];
byte rcv_nxt[2];
bool reset = false;
bool ended[2];

active [2] proctype sender()
{
    byte d = _pid % 2;
    byte snd_nxt = 0;
    mtype path = tcp;

end:do
    :: reset -> break
    :: d == 0 && path == tcp && snd_nxt < N && nfull(spine0) -> spine0!snd_nxt; snd_nxt++
    :: d == 1 && path == tcp && snd_nxt < N && nfull(spine1) -> spine1!snd_nxt; snd_nxt++
    :: atomic { path == tcp && (d == 0 || proven[0]) ->
                switch_at[d] = snd_nxt; switch_set[d] = true; path = switching }
    :: d == 0 && path != tcp && snd_nxt < N && nfull(ring0) -> ring0!snd_nxt; snd_nxt++
    :: d == 1 && path != tcp && snd_nxt < N && nfull(ring1) -> ring1!snd_nxt; snd_nxt++
#ifdef NO_SEEN
    :: d == 0 && path == switching && nfull(spine0) -> spine0!PROOF; path = accelerated
    :: d == 1 && path == switching && nfull(spine1) -> spine1!PROOF; path = accelerated
#else
    :: d == 0 && path == switching && seen_visible[0] && nfull(spine0) ->
       spine0!PROOF; path = accelerated
    :: d == 1 && path == switching && seen_visible[1] && nfull(spine1) ->
       spine1!PROOF; path = accelerated
#endif
    od
}

active proctype link()
{
end:do
    :: switch_set[0] && !switch_visible[0] -> switch_visible[0] = true
    :: switch_set[1] && !switch_visible[1] -> switch_visible[1] = true
    :: seen_set[0] && !seen_visible[0] -> seen_visible[0] = true
    :: seen_set[1] && !seen_visible[1] -> seen_visible[1] = true
    od
}

active proctype fault()
{
    if
    :: reset = true
    :: true
    fi
}

inline deliver(d, x)
{
    assert(x == rcv_nxt[d]);    /* Exactly once, in order, and no proof. */
    rcv_nxt[d]++
}

inline take_from_spine(d, x)
{
    if
    :: d == 0 && nempty(spine0) -> spine0?x; deliver(d, x); limit--
    :: d == 1 && nempty(spine1) -> spine1?x; deliver(d, x); limit--
    :: (d == 0 && empty(spine0)) || (d == 1 && empty(spine1)) -> limit = 0
    fi
}

/* A thread of the program that receives. */
proctype receiver(byte d)
{
    byte x, limit;

end:do
    :: reset -> break
    :: atomic { rx_path[d] == tcp && ((d == 0 && nempty(spine0)) || (d == 1 && nempty(spine1))) ->
                reading[d] = true; limit = NO_LIMIT };
       /* Here time passes. */
       atomic { take_from_spine(d, x);
                if :: limit > 0 -> take_from_spine(d, x) :: else fi;
                if :: limit > 0 -> take_from_spine(d, x) :: else fi;
                reading[d] = false }
    :: atomic { rx_path[d] == switching && rcv_nxt[d] < switch_at[d] &&
                ((d == 0 && nempty(spine0)) || (d == 1 && nempty(spine1))) ->
                limit = switch_at[d] - rcv_nxt[d]; take_from_spine(d, x) }
    :: atomic { rx_path[d] == switching && rcv_nxt[d] == switch_at[d] && d == 0 && nempty(spine0) ->
                spine0?x; assert(x == PROOF); rx_path[d] = accelerated; proven[d] = true }
    :: atomic { rx_path[d] == switching && rcv_nxt[d] == switch_at[d] && d == 1 && nempty(spine1) ->
                spine1?x; assert(x == PROOF); rx_path[d] = accelerated; proven[d] = true }
    :: atomic { rx_path[d] == accelerated && d == 0 && nempty(ring0) -> ring0?x; deliver(d, x) }
    :: atomic { rx_path[d] == accelerated && d == 1 && nempty(ring1) -> ring1?x; deliver(d, x) }
    od;
    ended[d] = true
}

/* The service thread of the receiving end. */
proctype notice(byte d)
{
    if
    :: atomic { switch_visible[d] && rx_path[d] == tcp && MAY_NOTICE ->
                rx_path[d] = switching; seen_set[d] = true }
    :: reset
    fi
}

init
{
    atomic { run receiver(0); run receiver(1); run notice(0); run notice(1) }
}

ltl all_comes { <> ((rcv_nxt[0] == N && rcv_nxt[1] == N) || (reset && ended[0] && ended[1])) }
