/* Receive work requests of a link that carries both directions.
 *
 * Question: how many of the other end's receives must data leave to control
 * messages, so that the link can never stand still?
 *
 * Each end has posted RECEIVES work requests, and each message, of data or of
 * control, takes one of the other end's. Processing a message posts a new one,
 * which the other end has to be told of: with the next message that goes there
 * anyway, or, when THRESHOLD have come together, with a control message of its
 * own. A full ring closes the window, which opens by a plain write: that takes no
 * receive.
 *
 *   RESERVE=n    data may not take the last n credits.
 *   THRESHOLD=n  how many credits are worth a message of their own.
 *
 * Result, with 4 receives:
 *   RESERVE 0      fails: both ends may have sent data until no credit is left,
 *                  and then none can say that it has posted receives anew.
 *   RESERVE 1      is enough, with a threshold of 2 or 3.
 *   THRESHOLD 1    fails whatever the reserve: the message that returns a credit
 *                  is itself worth one, and both ends answer each other for ever.
 *   RESERVE 2, THRESHOLD 3  fails: data can't take as many as would be returned.
 * So: 1 <= reserve, and 2 <= threshold <= receives - reserve.
 */
#ifndef RESERVE
#define RESERVE 1
#endif
#define N 6                     /* Messages of data in each direction. */
#define RECEIVES 4
#ifndef THRESHOLD
#define THRESHOLD 2
#endif
#define WINDOW 4

#define DATA 0
#define CONTROL 1

/* Messages under way: kind, credits that are returned with it. */
chan to0 = [4] of { byte, byte };
chan to1 = [4] of { byte, byte };

byte credits[2] = RECEIVES;     /* Receives of the other end, as this end knows. */
byte posted[2] = RECEIVES;      /* Receives of this end, in truth. */
byte returns[2];                /* Posted anew, and not yet told. */
byte received[2];
byte window[2] = WINDOW;

inline send(kind)
{
    credits[me]--;
    assert(posted[1 - me] > 0); /* The receiver is ready: no RNR. */
    posted[1 - me]--;
    if
    :: me == 0 -> to1!kind, returns[0]
    :: me == 1 -> to0!kind, returns[1]
    fi;
    returns[me] = 0
}

inline process_message(kind, back)
{
    credits[me] = credits[me] + back;
    posted[me]++;
    returns[me]++;
    if
    :: kind == DATA -> received[me]++; window[1 - me]++   /* Consumed: a plain write. */
    :: else
    fi
}

active [2] proctype end_of_link()
{
    byte me = _pid;
    byte sent = 0, kind, back;

end:do
    :: atomic { sent < N && window[me] > 0 && credits[me] > RESERVE ->
                window[me]--; send(DATA); sent++ }
    :: atomic { returns[me] >= THRESHOLD && credits[me] > 0 &&
                (credits[me] <= RESERVE || sent == N || window[me] == 0) -> send(CONTROL) }
    :: atomic { me == 0 && nempty(to0) -> to0?kind, back; process_message(kind, back) }
    :: atomic { me == 1 && nempty(to1) -> to1?kind, back; process_message(kind, back) }
    od
}

ltl all_comes { <> (received[0] == N && received[1] == N) }
