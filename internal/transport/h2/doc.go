// SPDX-License-Identifier: Apache-2.0

// Package h2 runs one HTTP/2 connection (RFC 9113) of either side. It knows
// nothing of what the streams carry: a [Handler] owns the connection, a
// [Receiver] each stream.
//
// # Goroutines
//
// A busy connection has one goroutine of its own, the reader. It comes from package warm, or it is a
// goroutine of package park that has seen the input arrive. The reader reads a frame, deals with it by
// calling the Handler and the Receiver, and reads the next. It waits for three things only: for input;
// for the writer, when the peer has made us queue more than a bound; and, for half a second at most,
// for handlers to return, when too many run and the peer opens another stream (budget.go). What the
// reader does between two waits is a batch (batch.go). The frames that it queues during a batch are
// written when the batch ends. Each wait begins with endBatch and ends with resume, and the reader must
// queue nothing between the two.
//
// A goroutine that waits for a message may take over the reader's role, as an [InlineReader], if its
// stream is the only one. A reader that has woken such a goroutine does not wait for input itself. It
// lends the role: it parks the connection, but keeps everything that reading needs. If input comes
// before anyone takes the role, the poller starts another reader. When the goroutine waits again, it
// takes the role and reads until it is woken, usually by a message that it has read itself. Then it
// lends the role again and goes on. That costs two system calls for each message, but saves waking a
// goroutine, and usually a thread. An InlineReader reads only frames that can be dealt with at once. It
// waits only between two frames, where it can be interrupted, because it has a deadline and can be
// cancelled. For all other frames, and for errors, it passes the role to a new reader goroutine. Each
// time that nobody takes the role, the reader stops lending it for a longer time (lending.go).
//
// There is no writer goroutine. A goroutine that queues frames while nobody writes takes the write
// token. It then writes its own frames and those of others, until nothing is left or it has written its
// share. A goroutine that does not get the token returns at once. While the reader has more frames in
// its buffer, other goroutines leave the writing to it, and it writes at the end of its batch. The
// holder of the token never waits for the socket: when the socket is full, the token goes to a flusher,
// a task that ends when it has written everything.
//
// # Writes that may wait
//
// A wrapper around a net.Conn may do anything in its Write, such as sleep until a budget allows for
// more. Room in the socket says nothing about that. Nor do earlier writes that were quick: a token
// bucket lets writes through at once until it is empty. And nothing can interrupt a goroutine in a
// Write, as a deadline would end the wrapper's stream. So on such a connection (writesWait) no
// goroutine writes that has anything else to react to:
//
//   - While the reader wrote, it would not read, and the peer's window updates, PINGs and resets would
//     wait.
//   - A sender has a deadline, can be cancelled, and must learn that its stream has ended.
//   - A caller of Close, Drain or Reset must not wait.
//
// In these cases a flusher writes, on a goroutine of its own. One goroutine has nothing else to react
// to: that of a handler that has returned. The end of its stream is queued (Stream.SendLast), everyone
// who waited for the handler was told, and the goroutine would be idle. So this goroutine is the
// flusher (Stream.Leave), which saves a switch to another one. With unary calls all writes of a server
// happen this way. If the Write takes long, others queue their frames, as they do behind any flusher.
//
// A connection has these timers: one for keepalive, one for each step of its end that may take too
// long, and one while the reader waits for a handler. All keepalive checks that are minutes away share
// one timer of the process (package alarm).
//
// A reader that has had no input for a while gives back what only a busy connection needs, and ends:
// the connection is then parked (parking.go). Where input comes seldom, the reader does so at once. It
// can park only between two frames, with no field block open, and only if the system can watch the
// socket. Input, or Close, starts another reader. If the connection is behind a wrapper with a Read of
// its own, the reader gives back the same things and rests: it waits in that Read, with a small buffer
// (rest.go).
//
// # Parts
//
// A [Conn] is the driver of a connection. The connection itself is a [protocol.Conn], the field core:
// it takes the frames that are read, returns the frames to write, and does no I/O. The driver has these
// parts:
//
//   - wire: the net.Conn, and what it can do beyond that interface.
//   - input: everything that belongs to the reader. What only a busy connection needs is in its field
//     active, which contains the protocol.Intake that parses frames.
//   - handle: where the connection stands between busy and parked (package park).
//   - keepalive: when to check next whether the peer is still there.
//
// Besides what its methods return, protocol.Conn asks its driver to do things (protocol.Todo). The
// driver does them before it gives up the lock: see locked.unlock.
//
// # Who may call what
//
// The receiver of a method says what its caller must have:
//
//   - [Conn], [Stream]: nothing. They take the lock themselves.
//   - locked: Conn.mu. Conn.lock returns it, so that there is no other way to have one.
//   - reader: the reader's role, and not the lock.
//   - writer: the write token, and not the lock.
//   - [protocol.Conn]: Conn.mu, except for its methods Config and Side. protocol.Intake: the reader's
//     role.
//
// locked, reader and writer are the same Conn under other types, with other methods. So code that holds
// the lock and calls a method that takes it does not compile. A method of protocol.Conn that needs both
// the lock and the reader's role has the Intake as a parameter.
//
// One goroutine passes the reader's role to the next through a parked handle, or by starting the next
// one (InlineReader.Leave). Conn.mu guards queued frames until the holder of the write token takes them
// as a parcel. From then on they belong to the holder.
//
// # Locks
//
// Conn.mu alone guards the queue of frames, HPACK encoding, stream ids, windows and stream states. So
// frames are queued in the order of stream ids, and header blocks in the order in which they were
// encoded. While a goroutine holds Conn.mu it may call a FieldSource, or the Wake of a sender that
// waits for room (CallRoom, OfferTo). It may also free buffers, set deadlines on the net.Conn, and set
// timers and alarms. The locks of all these come after Conn.mu in the lock order, and none of them
// calls back into this package. A goroutine that holds Conn.mu never reads, writes, or calls a Handler
// or a Receiver. So a Handler or a Receiver may call any method of the connection and its streams, and
// may hold locks of its own while it does.
//
// A small call takes Conn.mu three times on each side (TestLocksOfUnaryCalls, which counts under the
// race detector). A client takes it to queue the request and take it as a parcel, to count the response
// headers together with the message behind them, and to count the end. A server takes it to check
// whether it accepts another stream, to accept that stream together with its message, and to queue the
// reply. These steps take no lock of their own: the end of a batch that left nothing to do
// (reader.checkEnd), giving back the write token (marks), and the end of a handler after its last
// message (Stream.SendLast).
//
// # Panics
//
// A panic in this package ends the process, as any panic does, because nobody knows what it left
// behind: Conn.mu locked, a window that was changed without telling the peer, a stream that is in one
// table and not in another. The next caller would wait forever, or read bytes of another call. One step
// is different, and it is the largest part of the code that a peer's bytes control: reading a field
// block. Package hpack decodes the block, and the role (the client or server code above) parses what
// the fields say. This step computes a value from the block and holds no lock. It writes to the
// decoder, the decoder's list and that value alone, none of which another connection sees. So its
// panics are contained (Contain). A panic of the decoder ends the connection with INTERNAL_ERROR, as
// the HPACK table is lost, and the decoder's memory is not used again. A panic of the role's parser
// resets the stream. Both are logged with their stack.
//
// This protects against a fault of ours that a peer can trigger, as one was found once. It does not
// make a state safe that may be wrong: it saves a process with thousands of other connections.
//
// # A trace
//
// If DriverConfig.Trace is set, it is told of each frame that is read (reader.readFrame, dispatch), of
// each parcel before it is written (writer.take), and of parking, waking and lending. It parses the
// frames again from their bytes, with HPACK decoders of its own (package trace). docs/trace.md has an
// example.
//
// # Words
//
//   - A batch is what the reader does between two waits. A parcel is what is given to the
//     socket in one write.
//   - A connection is parked when it has neither a goroutine nor a read buffer, and the poller watches
//     its socket. It is slim from shortly before that until it has a reader again: it has given back
//     what only a busy connection needs. A connection whose reader's role is lent has not given that
//     back: it is parked so that an InlineReader can take the role. Quiet means that there was no input
//     for a period of the sweeper; then the reader checks whether it can park. A connection rests while
//     its reader waits in the Read of a wrapper, slim or not.
//   - An idle stream is, as in RFC 9113, one that was not opened yet. An idle connection (Conn.Idle)
//     is, as in gRPC, one without open streams, whether it is parked or not.
//   - To drain is to end a connection with two GOAWAYs (Conn.Drain), so that streams that are open, or
//     on their way, can finish. The farewell is the last GOAWAY that we send, and to part is to close
//     the connection after it.
//
// # Files
//
// From above (`go run ./tools/filegraph` shows who refers to whom):
//
//	open, observe                  what the owner calls: Start, Open, Close, Stats
//	reader, reader_end             the frame loop, and its end
//	headers, data, control,        one group of frames each: protocol handles the frame, the driver tells the streams
//	settings
//	violation                      a rule that was broken becomes RST_STREAM, or the end
//	budget, parking, lend, batch   where the reader waits
//	rest                           where the reader waits if the connection cannot be parked
//	role, marks                    who reads: a state machine; state that changes without the lock
//	next                           a DATA frame that is counted with the block before it
//	inline_reader, lending,        a goroutine that waits for a message and reads for itself; whether to wait, lend, or park
//	idle_predictor
//	drain, stream                  what other goroutines may call at any time
//	borrowed                       memory that belongs to the program and that it gets back
//	launch                         a task that the reader starts, or runs once it has parked
//	keepalive                      is the peer still there?
//	writer                         the write token, and the flusher
//	parked                         the connection as the poller knows it
//	closing                        the end of a connection
//	conn                           Conn, Stream and Handler, which name each other;
//	                               locked, reader, writer
//	input, wire, total, waiters,   parts of a Conn
//	mutex
//	config                         settings that only the driver needs
//	trace                          lines for each frame
//	names, contain                 names of package protocol, for users of this package
//
// # The way of a DATA frame
//
// This is the way of a DATA frame from the socket to its stream. reader.readFrame waits for a header
// (parking, which reads through package readyreader) and hands the frame to onData. Everything else is
// in data.go. receive takes the lock and has protocol.Conn count the frame and find its stream.
// fillBody passes the bytes that have arrived to the Receiver (Take). The other bytes it reads directly
// to where the Receiver wants them (Space, Filled). endRemote handles END_STREAM, and then the Receiver
// is told (OnEnd).
//
// # Window updates
//
// A window update is due when a quarter of a window can be given back. The connection's window is given
// back as DATA arrives, a stream's as the application consumes it. An update in a write of its own, for
// which the peer wakes and finds nothing else, costs as much as a small message. So where DATA went out
// since the last update (flow.Piggyback), the next update waits for more DATA to go with, as long as
// the peer has more than half of the window left. The first update of the connection's window makes the
// window so wide that few updates follow (Config.wideWindow).
//
// On a far path we follow the answer to a PING with an update of the connection's window, however small
// the increment. Without something to send, our TCP would acknowledge the answer only 40 ms later.
//
// # Sizes of receive windows
//
// A stream's window begins with 64 KiB, as in the published module. The connection's begins with the
// protocol's 64 KiB, and its first update makes it 1 MiB. A PING that goes out with the first 8 KiB of
// DATA measures the path:
//
//   - On a short path (round trips of 10 ms at most) the windows become three times the bandwidth-delay
//     product. Here 0.35 ms for the scheduling of both ends are added to the round trip.
//   - On a far path they become 512 KiB as soon as the path is known to be far, which is two round
//     trips after the first DATA. That is what TCP sends in five round trips from its initial window of
//     ten segments. From then on they are four times the product, so that they stay two doublings ahead
//     of TCP's window, up to 16 MiB, which is about what a socket's buffers hold. The answer to a PING
//     comes behind what the peer has queued. So the windows grow before it comes, if the DATA that has
//     come since the PING is enough to show that they should.
//   - On a far path the first DATA after a silence of two round trips triggers a PING, if an eighth of
//     a window has arrived since the last PING. So each large reply has one at its beginning, which
//     costs 17 bytes in either direction.
//   - A message whose length is known, and that a goroutine waits for, gets a window of its length
//     (Expect).
//
// What was measured on a far path (32 bytes) is kept for the life of the connection, parked or not,
// with or without streams. A connection that has received less than 8 KiB, or that has a short path,
// keeps nothing of that while it is parked.
//
// The PING at the beginning of a large reply is worth more than the estimate. A peer on Linux may send
// with BBR, which computes the rate of a path from what is acknowledged between the sending of a
// segment and its acknowledgement. Take a reply of S bytes that leaves in one burst, in a fraction x of
// a round trip. It shows BBR a rate of S in 1+x round trips, and the next reply leaves at 2.89 times
// that rate: x settles at 0.53. The peer sends the answer to the PING when the burst has left and the
// first acknowledgement arrives. We acknowledge the answer (with the window update above) one round
// trip later, with all of the burst in between. That shows a rate of S in one round trip, and x becomes
// 1/2.89. Replies of 3 MiB, with pauses, take 1.37 round trips instead of 1.55 at 100 and 200 ms. 1.35
// is the least that BBR allows for.
//
// So data and window updates alone cannot replace the PINGs. They show a round trip only where the peer
// was blocked and one of our updates has let it continue. That happens only when the window was too
// small already. The saving would be small: on a busy far path one PING in two round trips at most, and
// none on other paths.
//
// Windows are lowered when a far path has become short (a PING has shown it, and they are four times
// too large). Then the long round trip that they had to bridge is gone, and if that was wrong they are
// soon large again. On an idle path they are not lowered. They cost nothing there, since everything
// that arrived was read. To lower them would take SETTINGS and an acknowledgement on a parked
// connection. And the next reply of 3 MiB would take 2.6 round trips, as the second reply on a
// connection does, instead of 1.4.
//
// A window is credit, and costs no memory until a peer sends what nobody reads. The windows of all open
// streams together grow to a quarter of Config.MaxHeld at most. When more streams are opened and they
// reach half of MaxHeld, they are lowered, and they grow again when those streams have ended. So a peer
// that keeps to its windows does not reach MaxHeld because they have grown. The connection's window is
// not bounded this way: it is given back as DATA arrives, whichever stream the DATA is for. With
// StaticWindow nothing is measured, and nothing grows. Otherwise StreamWindow and ConnWindow are the
// sizes from which the windows grow.
//
// # What may wait
//
// Conn.Open waits for a place under the peer's limit of streams; calls get a place in the order in
// which they came. Close waits as long as the net.Conn's Close does, Stream.Leave as long as its Write,
// Stream.Reclaim until nobody reads the memory any more, and InlineReader.Read for input. Everything
// else returns at once. Stream.Send queues without a bound of its own: a sender learns from
// Stream.Offer, OfferTo, or CallRoom that it should wait.
//
// # Buffers
//
// Frames.Data belongs to the connection from the call on. The connection frees it when it has copied it
// to the queue or written it, or when the stream or the connection ends before that. A parcel is one
// pooled buffer that grows, and between its bytes pieces of messages that are long enough to be written
// without a copy (LeastPiece of package readyreader). All of a parcel is freed once it is written, or
// can't be. Input is in the read buffer of package readyreader. A DATA payload goes from there, or
// directly from the socket, to Receiver.Space.
//
// A FieldSource for trailers may be called after Send has returned, as long as DATA in front of the
// trailers waits for the windows.
//
// # What a peer makes us hold
//
// Everything that came from the peer and that we keep is charged to the connection's account
// (account.go), at its cost in memory. The account is refunded when the memory is given back, or when
// it becomes the application's. Conn.mu guards the account, and charging needs no extra lock:
//
//   - The reader charges. What it takes without mu (bodies, parts of a field block, what was made of a
//     block) it notes in its ledger. It enters the ledger into the account when it takes mu anyway: at
//     the next frame, or at the end of its batch at the latest.
//   - A stream that the peer opened is charged with what it takes, from its acceptance until both the
//     stream and its handler have ended (Stream.Done). Then whatever is still charged to it is refunded
//     in one piece (settle). A stream that we opened is settled when it ends: what it still has belongs
//     to the application.
//   - The caller that takes a message from the Receiver refunds it with Consume, which takes mu for the
//     window anyway. Once the peer has ended the stream there is no window to widen, and callers refund
//     in larger lots (Refund).
//   - An incomplete TLS or ALTS record is held by that layer. The layer counts it in the total of the
//     process itself, and the reader asks for its size when it is about to wait (Retained of package
//     readyreader).
//   - Many streams and memos may hold what is made of a field block (SetMemo), and the fields of
//     HPACK's table that it refers to (hpack.Field). Each of these is charged once, with its first
//     holder, and refunded with its last. When a connection parks it gives its memos, up to a few KB,
//     back to a pool together with its decoder. They are for the next connection that gets them, which
//     is charged for a copy of its own.
//
// Past the bound (Config.MaxHeld) new streams of the peer are refused with ENHANCE_YOUR_CALM. Past
// twice the bound the connection ends with a GOAWAY that says so. That is a last resort: nothing here
// costs more than a small multiple of what the peer sent for it. In particular, memory for a message is
// reserved as the message arrives, at most about twice as much as has arrived. The memory for a whole
// message is reserved at once only within what the peer has sent before, less what is held already
// (account.ahead).
//
// Output that waits to be sent is not in the account: it has bounds of its own, which count its memory.
// Frames that the peer caused have their own bounds (limits.go). A stream queues at most
// protocol.SendBuffer bytes of messages and one message more, or two where CallRoom had promised room that
// is gone. The streams of a connection together queue at most Config.maxQueued bytes and as many messages
// more for each stream (streams.isFull). Small
// messages share buffers, so that the memory is at most about two and a half times as much
// (send_queue.go).
//
// The lists of this package, who fills them, their bounds, and the tests that show the bounds:
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
//	streams, and handlers that    the peer        MaxStreams; without it MaxHeld, and   TestBoundOfWhatIsHeld,
//	outlive theirs                                1000 of these handlers (limits.go)    TestStuckHandlers
//	pieces of bodies              the peer        the windows; charged, with what is    TestTinyMessages
//	(package transport)                           kept beside them
//
// # What a peer's bytes cost
//
// Each loop whose length a peer controls takes a number of steps that is linear in the bytes that the
// peer spent, or has a bound of its own:
//
//	loop over                  runs for                     steps                           test
//	fields of a block          a block                      one each; a reference to a      TestReferencesTakeNoTime
//	                                                        table is one lookup
//	entries of HPACK's tables  parking, and a field that    128: 4 KiB in entries of 32     TestHistories
//	                           we encode
//	memos                      a block                      eight                           TestMemosAreSmall
//	parts of a block           its end                      one each; none is copied twice  TestIncompleteBlocks
//	settings                   a SETTINGS                   256 at most, else the end       TestFloods
//	all streams                a new initial window         64 of them count as one useless TestInitialWindowFlood,
//	                                                        frame                           TestNonsenseWalks
//	all streams                the acknowledgement of       as often as we change our       TestWindowsGrow,
//	                           SETTINGS that lower windows, windows: by doubling, or to     TestWindowsWithinTheBound
//	                           and each growth of windows   keep to the bound of all
//	streams above an id        a GOAWAY                     each stream once, whatever the  TestOursIsLinear
//	                                                        number of GOAWAYs
//	calls that wait            one that gives up            one                             TestAbandonIsConstant
//	streams with something     a write                      those that it sends for         TestFull
//	to send
//	all streams                the end of the connection    one each, once                  TestAccountIsExact
//	useless frames             each                         one; 10,000 end the connection  TestFloods,
//	                                                                                        TestRefusedPayForOne
//
// # How a connection ends
//
//   - kill marks the connection as dead, with the cause that everybody is told. The first cause stands.
//     From then on nothing is sent or opened.
//   - terminate is kill for callers other than the reader. It closes the socket, which ends the
//     reader's wait. If the connection is parked, terminate starts a reader.
//   - The reader ends by itself after an error of the socket, or when the peer has broken a rule. It
//     tells the peer so in a GOAWAY (sayGoAway).
//   - In each case the reader calls Handler.Closed, then OnAbort of every stream that was open, and
//     nothing after that. If no reader was ever started, terminate makes these calls.
//   - After a write error the connection is mute: nothing more is written. The reader has a second to
//     find the peer's reason in the socket, such as a GOAWAY.
//   - A connection ends in an orderly way after Drain, after Retire, or when the server said GOAWAY.
//     Once the last stream has ended, protocol.Conn queues the farewell. When everything is written it
//     asks for part, which closes the connection. A server waits for the client to close first.
//
// A broken rule is a [frame.Error]. violation turns it into RST_STREAM, or into the end of the
// connection.
package h2
