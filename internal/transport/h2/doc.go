// SPDX-License-Identifier: Apache-2.0

// Package h2 runs one HTTP/2 connection (RFC 9113) of either side. It knows
// nothing of what the streams carry: a [Handler] owns the connection, a
// [Receiver] each stream.
//
// # Goroutines
//
// A busy connection has one goroutine of its own, the reader, which package warm
// supplies, or package park, whose own it was. It reads a frame, deals with it, calling Handler and Receiver, and reads
// on. It waits for three things only: for input; for the writer, when the peer has
// made us queue more than a bound; and, for a moment, for handlers to return, when
// too many run and the peer opens another stream (budget.go). What it does between
// two waits is a batch (batch.go): the frames that it queues meanwhile are written
// when the batch ends. Each wait begins with endBatch and ends with resume, and the
// reader must queue nothing between the two.
//
// A goroutine that waits for a message of the only stream may be the reader meanwhile, an [InlineReader].
// A reader that has woken such a goroutine does not wait for input, but lends the role: it parks, and keeps
// all that reading needs where it is, so that the poller starts another reader if there is input first. When
// the goroutine comes to wait again it takes the role, reads until it is woken, mostly by what it reads itself,
// lends the role again and goes on. That costs two system calls a message; otherwise a goroutine, and mostly
// a thread, would have to be woken. An InlineReader reads what can be dealt with at once, and waits
// between two frames only, where it can be interrupted: it has a deadline and can be cancelled. For all
// other frames, and for errors, it passes the role to a reader of its own goroutine. Each time that nobody
// came to take the role, lending pauses for longer (lending.go).
//
// There is no writer goroutine. A goroutine that queues frames and finds nobody writing
// takes the write token and writes, for others too, until nothing is left or
// its share is done; a goroutine that doesn't get the token returns at once. While the reader has more
// frames in its buffer it writes at the end of its batch, and others leave that to it. The holder never
// waits for the socket: when that is full the token goes to a flusher, a task that ends
// when it has caught up.
//
// # Writes that may wait
//
// A wrapper with a Write of its own may do in it what it likes, such as to sleep until a
// budget allows for it. That the socket has room says nothing of that, nor that all writes
// so far were quick: a token bucket is, until it is empty. And a goroutine in a Write can't be
// taken out of it, as a deadline would end the wrapper's stream. So nobody writes on such a
// connection (writesWait) who has anything else to heed:
//
//   - The reader would not read, and the peer's windows, pings and resets would wait.
//   - A sender has a deadline, can be cancelled, and is to hear of the end of its stream.
//   - A caller of Close, Drain or Reset must not wait.
//
// For these a flusher writes, on a goroutine of its own. One goroutine has nothing to heed: that
// of a handler which has returned. Its stream's end is queued (Stream.SendLast), all that waits
// for the handler was told, and the goroutine would be idle: so it is the flusher
// (Stream.Leave), which saves the switch to another, and with unary calls is every write of a
// server. If the Write takes long, others queue, as behind any flusher.
//
// Timers: one for keepalive, one for each step of a connection's end that may take too
// long, and one while the reader waits for a handler. All keepalive checks that are
// minutes away share one timer of the process (package alarm).
//
// A reader that has had no input for a while (or at once, where input comes seldom)
// gives back what only a busy connection needs and ends: the connection is then parked
// (parking.go). It has to stand between two frames for that, with no field block open,
// and the system must be able to watch the socket. Input, or Close, starts another reader.
// Behind a wrapper with a Read of its own it gives the same back, and rests: it waits in that Read,
// with a small buffer (rest.go).
//
// # Parts
//
// A [Conn] is the driver of a connection, which itself is in package protocol: [protocol.Conn], the
// field core, takes the frames that are read and hands out those to write, and does no I/O. The driver
// has
//
//   - wire: the net.Conn, with the optional interfaces that it has.
//   - input: all of the reader's. What only a busy connection needs is in active; of that,
//     protocol.Intake understands frames.
//   - handle: where the connection stands between busy and parked (package park).
//   - keepalive: when it checks next.
//
// What protocol.Conn asks for beside its answers (protocol.Todo) is done before the lock is given up:
// see locked.unlock.
//
// # Who may call what
//
// The receiver of a method says what its caller must have:
//
//   - [Conn], [Stream]: nothing. They take the lock themselves.
//   - locked: Conn.mu. Conn.lock returns it, so that there is no other way to have one.
//   - reader: the reader's role, and not the lock.
//   - writer: the write token, and not the lock.
//   - [protocol.Conn]: Conn.mu, but for its Config and Side. protocol.Intake: the reader's role.
//
// locked, reader and writer are all the same Conn, with other methods: a call of one that
// takes the lock, where the lock is held, does not compile. A method of protocol.Conn
// that needs both the role and the lock has the Intake as an argument.
//
// The role of the reader passes from one goroutine to the next through a parked handle, or with
// the start of the next (InlineReader.Leave). Queued frames are guarded by Conn.mu until the token's
// holder takes them as a parcel; then they are the holder's.
//
// # Locks
//
// Conn.mu guards the queue of frames, HPACK encoding, stream ids, windows and
// states, in one: so frames are queued in the order of stream ids, and header blocks in
// the order in which they were encoded. Under it a FieldSource is called, and the Wake of
// a sender that waits for room (CallRoom, OfferTo); buffers are freed, deadlines are set on the net.Conn,
// timers and alarms are set. The locks of those are below it, and none of ours calls back.
// Under it there is never a read, a write, or a call of a Handler or a Receiver: these may
// therefore call any method of the connection and its streams, and hold locks of their
// own while they do.
//
// A small call takes it three times on each side (TestLocksOfUnaryCalls, which counts under the race
// detector). A client: to queue the request and take it as a parcel, to count the header with the message
// behind it, and to count the end. A server: to look whether it takes another stream, to take it with the
// message behind, and to queue the reply. What takes no lock of its own: the end of a batch that left nothing
// to do (reader.checkEnd), the write token when it comes back (marks), and a handler's end after its
// last message (Stream.SendLast).
//
// # Panics
//
// A panic of this package's ends the process, as any does, because nobody knows what it left
// behind: Conn.mu locked, a window that was moved and not told, a stream that is in one table and
// not in another; the next caller would wait for ever, or read another call's bytes. One step
// is different, and the largest part of what a peer's bytes drive: reading a field block, by
// package hpack and by the role, which parses what the fields say. It computes a value from the
// block, holds no lock, and writes to the decoder, its list and that value alone, none of which
// another connection sees. So it is contained (Contain): a panic of the decoder ends the
// connection with INTERNAL_ERROR, as its table is lost, and its memory is not used again; one of
// the role's parser resets the stream. Both are logged with their stack.
//
// What this saves from is a fault of ours that a peer can find, as one was found: not a state that
// may be wrong, but a process with thousands of other connections.
//
// # A trace
//
// Config.Trace, if there is one, is told of each frame that is read (reader.readFrame, dispatch), of
// each parcel before it is written (writer.take), and of parking, waking and lending. It reads frames
// from their bytes, with HPACK decoders of its own (package trace). docs/trace.md has an example.
//
// # Words
//
//   - A batch is what the reader does between two waits. A parcel is what is given to the
//     socket in one write.
//   - A connection is parked when it has neither a goroutine nor a read buffer, and the
//     poller watches its socket. It is slim from shortly before that until there is a
//     reader again: it has given back what only a busy one needs. One that is lent has not: it is
//     parked so that somebody else may read. Quiet means that there was no input for a period of
//     the sweeper, which is when a reader looks whether to park. A connection rests while its reader
//     waits in the Read of a wrapper, slim or not.
//   - Idle is, of a stream, the state of RFC 9113 before it is opened. Of a connection
//     (Conn.Idle) it means that no stream is open, as gRPC has it; parked or not.
//   - To drain is to take leave of the peer with two GOAWAYs (Conn.Drain). The farewell is
//     the last GOAWAY that we send, and to part is to close the connection after it.
//
// # Files
//
// From above (`go run ./tools/filegraph` shows who refers to whom):
//
//	open, observe                  what the owner calls: Start, Open, Close, Stats
//	reader, reader_end             the frame loop, and its end
//	headers, data, control,        one group of frames each: what protocol makes of them, and who is told
//	settings
//	violation                      a rule that was broken becomes RST_STREAM, or the end
//	budget, parking, lend, batch   where the reader waits
//	rest                           where the reader of a connection waits that cannot be parked
//	role, marks                    who reads: a state machine; what changes without the lock
//	next                           a DATA frame that is counted with the block before it
//	inline_reader, lending,        a waiter that reads for itself; whether to wait, to lend, or to park
//	idle_predictor
//	drain, stream                  what others may call at any time
//	borrowed                       memory of the program's, which has it back
//	launch                         a task that the reader starts, or runs once it has parked
//	keepalive                      is the peer still there?
//	writer                         the write token, and the flusher
//	parked                         the connection as the poller knows it
//	closing                        the end of a connection
//	conn                           Conn, Stream and Handler, which name each other;
//	                               locked, reader, writer
//	input, wire, total, waiters    what a Conn is made of
//	trace                          lines for each frame
//	names, contain                 names of package protocol for users of this one
//
// # The way of a DATA frame
//
// From the socket to its stream: reader.readFrame waits for a header (parking, which reads
// through package readyreader) and hands it to onData. All else is in data.go: receive
// has protocol.Conn count it, under the lock, and find its stream; fillBody hands the Receiver what has
// arrived (Take), and reads what has not to where it wants it (Space, Filled); endRemote
// follows END_STREAM, and the Receiver hears of that (OnEnd).
//
// # Window updates
//
// An update is due when a quarter of a window can be given back, the connection's as DATA arrives,
// a stream's as it is consumed. A write of its own for that, and a peer that wakes for nothing
// else, cost as much as a small message. So where DATA went out since the last update (flow.Piggyback)
// it waits for more to go with, while the peer has more than half of the window left. The first
// update of the connection's window makes it so wide that there are few (Config.wideWindow).
//
// On a far path the answer to a PING is followed by an update of the connection's window, however little
// it lacks: our TCP would acknowledge the answer 40 ms later otherwise, with nothing else to send.
//
// # Sizes of receive windows
//
// A stream begins with 64 KiB, as in the published module; the connection with the protocol's 64 KiB,
// which its first update makes 1 MiB. A PING with the first 8 KiB of DATA measures the path:
//
//   - On a short path (10 ms at most) the windows become three times the bandwidth-delay product, where
//     0.35 ms count for the scheduling of both ends beside the round trip.
//   - On a far path they become 512 KiB as soon as it is known to be one, which is two round trips
//     after the first DATA: what TCP sends in five round trips from its initial window of ten
//     segments. From then on they are four times the product, so that they lead TCP's window by
//     two doublings, up to 16 MiB, which is about what a socket's buffers hold. They do not
//     wait for the answer to a PING, which comes behind what the peer has queued, where
//     what has come since is enough.
//   - On a far path the first DATA after a silence of two round trips has a PING, if there was an eighth
//     of a window since the last. So each large reply has one at its beginning, which costs 17 bytes in
//     either direction.
//   - A message whose length is known, and that somebody waits for, gets a window of its length (Expect).
//
// What is learnt of a far path (32 bytes) lasts as long as the connection, parked or not, with or
// without streams. A connection that has received less than 8 KiB, or that has a short path,
// holds nothing for it while it is parked.
//
// That PING is worth more than the estimate. BBR, with which Linux may send, takes the rate of a path from
// what is acknowledged between the sending of a segment and its acknowledgement. A reply of S bytes
// that leaves in one burst, in a part x of a round trip, shows it S in 1+x round trips, and the next one leaves at
// 2.89 times that: x settles at 0.53. The answer to the PING is sent when the burst has left and its
// first acknowledgement comes, and is acknowledged (by the update above) one round trip later,
// with all of the burst in between: S in one round trip, and x becomes 1/2.89. Replies of 3 MiB, with pauses, take 1.37
// round trips instead of 1.55 at 100 and 200 ms. 1.35 is the least that BBR allows for.
//
// So round trips are not told from data and updates alone. They could be where the peer was blocked and
// an update of ours has let it go on, which is when the window was too small already, and nowhere else. What that
// would save is the PINGs: on a busy far path one in two round trips at most, on others none.
//
// Windows are lowered where a far path has become short (a PING has said so, and they are four times too
// large): what they have to bridge is gone, and they are soon large again if that was wrong. On a path that is
// idle they stay: nothing is held for them, since all that came was read. To lower them would be SETTINGS and
// an answer on a connection that is parked, and the next reply of 3 MiB would take 2.6 round trips, as the second
// on a connection does, instead of 1.4.
//
// A window is credit, and costs no memory until a peer sends what nobody reads. So the
// windows of all open streams together grow to a quarter of Config.MaxHeld at most, are lowered
// when they come to half of it as more streams are opened, and grow again when those have ended: a peer that
// keeps to them does not reach that bound by the windows' growth. The connection's window is not bounded
// so: it is given back as DATA arrives, whichever stream that is for. With StaticWindow nothing is measured, and nothing grows. StreamWindow and ConnWindow are where
// the windows begin: from there they grow.
//
// # What may wait
//
// Conn.Open waits for a place under the peer's limit of streams, in the order of the
// calls, Close for as long as the net.Conn's Close does, and Stream.Leave for its Write. Everything else returns at
// once: Stream.Send queues without a bound of its own, and Stream.Offer, OfferTo, or CallRoom, is
// how a sender learns that it should wait.
//
// # Buffers
//
// Frames.Data belongs to the connection from the call on. It is freed when it
// is copied to the queue, when it is written, or when the stream or the connection ends before
// that. A parcel is one pooled buffer that grows, and pieces of messages between its bytes
// that are long enough to be written from where they are (LeastPiece of package readyreader). All of it is freed once
// it is written or can't be. Input lies in the read buffer of package readyreader; a DATA payload
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
//   - The reader charges. What it takes while it does not hold mu (bodies, parts of a
//     field block, what was made of a block) it notes in its ledger, and enters that when
//     it takes mu anyway: at the next frame, at the end of its batch at the latest.
//   - A stream that the peer opened is charged with what it takes, from its
//     acceptance to the end of both the stream and its handler (Stream.Done); what is
//     left of its charges then is refunded in one piece (settle). A stream of ours is
//     settled when it ends: what it still has is the application's.
//   - The caller that takes a message from the Receiver refunds it with Consume, which takes mu for
//     the window anyway. Once the peer has ended the stream there is no window to open,
//     and the memory is refunded now and then (Refund).
//   - The part of a TLS or ALTS record that has arrived, while the rest has not, is held by
//     that layer, which counts it in the total of the process itself; the reader asks for
//     it when it is about to wait (Retained of package readyreader).
//   - What is made of a field block (SetMemo), and the fields of HPACK's table
//     that it refers to (hpack.Field), may be held by many streams and memos. Each is
//     charged once, with the first holder, and refunded with the last.
//     Memos, up to a few KB, stay in what a connection gives back when it parks, for the next
//     one that gets it, which is charged with a copy of its own.
//
// Past the bound (Config.MaxHeld) the peer's new streams are refused with
// ENHANCE_YOUR_CALM; past twice the bound the connection ends with a GOAWAY that
// says so. That is a last resort: nothing here costs more than a small multiple of
// what the peer sent for it. In particular, memory for a message is reserved as the
// message arrives, at most about twice as much as is there. All of it is reserved at once
// only within what the peer has sent before, less what is held already (account.ahead).
//
// What waits to be sent is not in the account: it is bounded at what it costs. Frames that the peer
// caused have bounds of their own (limits.go). Of messages a stream queues protocol.SendBuffer bytes and a
// message, and the streams of a connection together Config.maxQueued and a message each
// (streams.isFull); small ones share buffers, so that the memory is at most about two and a half
// times as much (send_queue.go).
//
// The lists of this package, who fills them, how far, and what shows it:
//
//	list                          filled by       bound                                 test
//	frames to be written          the peer        512 replies, 4096 window updates,     TestRepliesAreBounded,
//	(output)                                      8 for each stream, 1 MiB before a     TestRepliesNotRead
//	                                              stream is opened (limits.go)
//	messages to be sent           our senders     64 to 128 KiB and a message for each  TestFull,
//	(sendQueue)                                   stream, a quarter of MaxHeld for all  TestSendQueueMemory
//	calls that wait for a place   our callers     none: the program pays                TestAbandonIsConstant
//	parts of a field block        the peer        the list's limit and 64 KiB;          TestIncompleteBlocks
//	(pile)                                        charged
//	fields of HPACK's table       the peer        4 KiB as RFC 7541 counts; charged     TestReferencesAreShared
//	memos                         the peer        eight, of a few KB; charged           TestMemosAreSmall
//	streams, and handlers that    the peer        MaxStreams, MaxHeld; 1000             TestBoundOfWhatIsHeld,
//	outlive theirs                                                                      TestStuckHandlers
//	pieces of bodies              the peer        the windows; charged, with what is    TestTinyMessages
//	(package transport)                           kept beside them
//
// # What a peer's bytes cost
//
// Each loop over what a peer can lengthen takes a number of steps that is linear in the bytes that
// the peer spent, or has a bound of its own:
//
//	loop over                  runs for                     steps                           test
//	fields of a block          a block                      one each; a reference to a      TestReferencesTakeNoTime
//	                                                        table is one lookup
//	entries of HPACK's tables  parking, and a field that    128: 4 KiB in entries of 32     TestHistories
//	                           we encode
//	memos                      a block                      eight                           TestMemosAreSmall
//	parts of a block           its end                      one each; none is copied twice  TestIncompleteBlocks
//	settings                   a SETTINGS                   256 at most, else the end       TestFloods
//	all streams                a new initial window         counted as a useless frame for  TestInitialWindowFlood,
//	                                                        each 64 of them                 TestNonsenseWalks
//	all streams                the acknowledgement of ours  as often as we lower or raise   TestWindowsGrow,
//	                           that lowers, and each growth our windows: by doubling, or    TestWindowsWithinTheBound
//	                                                        for the bound of all
//	streams above an id        a GOAWAY                     each stream once, whatever the  TestOursIsLinear
//	                                                        number of GOAWAYs
//	calls that wait            one that gives up            one                             TestAbandonIsConstant
//	streams with something     a write                      those that it sends for         TestFull
//	to send
//	all streams                the end of the connection    one each, once                  TestAccountIsExact
//	frames that serve nothing  each                         one; ten thousand end it        TestFloods,
//	                                                                                        TestRefusedPayForOne
//
// # How a connection ends
//
//   - kill marks it as dead, with the cause that everybody is told: the first
//     one stands. Nothing is sent or opened from then on.
//   - terminate is kill from outside of the reader. It closes the socket, which
//     ends the reader's wait; a parked connection gets a reader for that.
//   - The reader ends by itself at an error of the socket, or of the peer, to
//     whom it says GOAWAY (sayGoAway).
//   - In each case the reader calls Handler.Closed and then OnAbort of every
//     stream that was open, and after that nothing. Where no reader was ever
//     started, terminate does it.
//   - A write error makes the connection mute. The reader has a second to find
//     the peer's reason in the socket, such as a GOAWAY.
//   - A connection ends in peace by Drain, by Retire, or when the server said GOAWAY:
//     once the last stream has ended, protocol.Conn says the farewell, and, when all is
//     written, asks for part, which closes. A server waits for the client to hang up first.
//
// A broken rule is a [frame.Error]; violation is where it becomes RST_STREAM, or
// the end.
package h2
