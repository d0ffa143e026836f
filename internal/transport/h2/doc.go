// SPDX-License-Identifier: Apache-2.0

// Package h2 runs one HTTP/2 connection (RFC 9113) of either side. It knows
// nothing of what the streams carry: a [Handler] owns the connection, a
// [Receiver] each stream.
//
// # Goroutines
//
// A busy connection has one goroutine of its own, the reader, on a warm one of
// package warm. It reads a frame, deals with it and reads on; it calls Handler
// and Receiver, and waits for nothing but input and, past a bound on what the
// peer made us hold, for that to drain; for too many handlers, before another
// begins, only a moment (budget.go). What it has to say it holds back until it is
// about to wait: each wait of the reader begins with endBatch and ends with
// resume, and nothing may be queued by the reader between them.
//
// There is no writer goroutine. Whoever queues frames and finds nobody writing
// takes the write token and writes, for others too, until nothing is left or
// its share is done; who doesn't get the token returns at once. The holder never
// waits for the socket: when that is full, or can only be written by waiting,
// the token goes to a flusher, a task that ends when it has caught up.
//
// Timers: one for keepalive, one for a drain or a parting that takes too long. All
// keepalives that are minutes away share a timer of the process (package alarm).
//
// A reader that found nothing to do for a while stands at a frame boundary, and
// the system can watch the socket, gives back what only a busy connection needs
// and ends; the connection is then parked (idle.go). Input, or Close, starts
// another reader. A field block that is not complete keeps the connection from
// parking.
//
// # Who owns what
//
// The fields of [Conn] stand in groups: immutable, the reader's, guarded by
// Conn.mu. The role of the reader passes from one goroutine to the next only
// through a parked handle. A batch of encoded frames belongs to Conn.mu until
// the token's holder takes it, then to the holder.
//
// # Locks
//
// Conn.mu guards the queue of frames, HPACK encoding, stream ids, windows and
// states: the order of bytes is that of ids and of HPACK by itself. It is a
// leaf. Under it only a FieldSource is called, deadlines are set on the
// net.Conn, and buffers are freed; never a Handler or a Receiver, no read and no
// write. So these may call any method of the connection and its streams, and
// may hold locks of their own while they do.
//
// # What may wait
//
// Conn.Open, for a place under the peer's limit of streams, in the order of the
// calls. Everything else returns at once: Stream.Send queues without a bound of
// its own, and Stream.Room is how a sender learns to wait. Close waits for as
// long as the net.Conn's Close does.
//
// # Buffers
//
// Frames.Data belongs to the connection from the call on. It is freed when it
// is copied to a batch, or when the stream or the connection ends before that.
// A batch is one pooled buffer that grows, and is freed once it is written or
// can't be. Input lies in the read buffer of package readyreader; a DATA payload
// goes from there, or straight from the socket, to Receiver.Space.
//
// A FieldSource for trailers may be asked after Send has returned, as long as
// DATA in front of it waits for the windows.
//
// # What a peer makes us hold
//
// Everything that came from the peer and is kept is charged to the connection's
// account (account.go), at what it costs in memory, and refunded when it is given back
// or becomes the application's. The account is guarded by Conn.mu and costs no lock of
// its own:
//
//   - The reader charges. What it takes while it has not mu (bodies, parts of a field
//     block, what was made of a block) it notes in its ledger, and enters that when
//     it takes mu anyway: at the next frame, at the end of its batch at the latest.
//   - A stream that the peer opened is charged with what it takes, from its
//     acceptance to the end of both the stream and its handler (Stream.Done); what is
//     left of its charges then is refunded in one piece (settle). A stream of ours is
//     settled when it ends: what it still has is the application's.
//   - Who takes a message refunds it with Consume, which takes mu for the window.
//     When the peer has said all there is no window, and it is told now and then
//     (Refund).
//   - What a parked connection holds of a record of TLS or ALTS that is not whole is in its
//     account; while it is read it is bounded by the protocol.
//   - What is made of a field block (SetMemo), and the entries of the HPACK table it
//     refers to, may be held by many streams and a memo. It is charged once, with
//     the first holder, and refunded with the last.
//
// Past the bound (Config.MaxHeld) the peer's new streams are refused with
// ENHANCE_YOUR_CALM; past twice the bound the connection ends with a GOAWAY that
// says so. That is a last resort: nothing here costs more than a small multiple of
// what the peer sent for it. In particular, memory for a message is reserved as the
// message arrives, at twice of that; a peer may have more at once as far as it has
// sent as many bytes before, and they are not held (account.ahead).
//
// What waits to be sent is not in the account: it is bounded elsewhere (limits.go), or
// the application's.
//
// # How a connection ends
//
//   - kill marks it as dead, with the cause that everybody is told: the first
//     one stands. Nothing is sent or opened from then on.
//   - terminate is kill from outside of the reader. It closes the socket, which
//     takes the reader out of its wait; a parked connection gets a reader for it.
//   - The reader ends by itself at an error of the socket, or of the peer, to
//     whom it says GOAWAY (sayGoAway).
//   - In each case the reader calls Handler.Closed and then OnAbort of every
//     stream that was open, and after that nothing. Where no reader was ever
//     started, terminate does it.
//   - A write error makes the connection mute. The reader has a second to find
//     the peer's reason in the socket, such as a GOAWAY.
//   - Leave is taken in peace by Drain, by Retire, or when the server said GOAWAY:
//     once the last stream has ended and all is written, tryPart says the last
//     GOAWAY, the writer falls silent, and part closes. A server waits for the
//     client to hang up first.
//
// A broken rule is a [frame.Error]; violation is where it becomes RST_STREAM, or
// the end.
package h2
