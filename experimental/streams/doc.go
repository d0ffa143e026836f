// SPDX-License-Identifier: Apache-2.0

// Package streams has streaming RPCs without goroutines. A stream that waits, as those of watchers do
// most of the time, costs only the memory of its state: about 2 KB on a server, where a stream's handler
// otherwise keeps a goroutine with a stack of 4 KB or more. The package works with generated code as
// it is.
//
// # Servers
//
// A handler hands its stream over, with callbacks for what happens to it, and returns nil. From
// then on the RPC lives until the program calls Finish, or until the RPC fails:
//
//	func (h *hub) Watch(req *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.Event]) error {
//		w, err := streams.ServerStreaming(stream, &h.calls, &h.opts)
//		if err != nil {
//			return err
//		}
//		h.add(req.GetTopic(), w)
//		return nil
//	}
//
//	func (h *hub) publish(topic string, e *pb.Event) {
//		for _, w := range h.watchers(topic) {
//			_ = w.Send(e) // a failure is told to OnDone
//		}
//	}
//
// The methods of [Server] send messages, from any goroutine, and never wait. [ServerCallbacks] are
// called for messages, for the client's half-close, when there is room to send again, and at the end.
//
// # Clients
//
// [Open] begins an RPC whose messages are passed to callbacks, so 10,000 watches of a channel hold
// no goroutine. The RPC is retried, and ends, as any other.
//
// # Room
//
// A connection takes about 128 KiB for a stream that the other side does not read. After that there is
// no room. TrySend then fails. Send puts the message in a queue, whose length Options set; they also say
// what happens to a message if the queue is full. When there is room again, the messages of the queue
// are sent, and OnReady is called if a message was refused or dropped.
//
// # One message for many
//
// [Shared] is a message for many streams: it is encoded and compressed once for all streams that have
// the same codec and compressor. [Group] sends to many streams at once, with one write for each
// connection rather than one for each stream.
//
// # What others see
//
//   - Interceptors see the handler return nil at the hand-over: one that measures how long handlers
//     take measures the time until then. The hand-over can't keep interceptors waiting until the end
//     of the RPC, because that would need the goroutine that it saves. If an interceptor returns an
//     error, the RPC ends with it. An interceptor that needs to know of the end can use
//     context.AfterFunc with the stream's context, or a stats handler.
//   - If interceptors have wrapped a stream, all messages pass through the SendMsg and RecvMsg of the
//     wrapper, and RecvMsg returns io.EOF at the half-close. A wrapper that waits in these methods
//     holds a goroutine meanwhile. It must not send on the same stream.
//   - Stats handlers, telemetry, the binary log and channelz see the RPC as it is: its end when it
//     ends. They may be called while the stream's sending lock is held, and must not send.
//     OnFinish functions of a client's RPC have a goroutine of their own, and may: they run beside
//     OnDone, and a panic of one ends the process.
//   - GracefulStop waits until the streams have been finished. Stop ends them; with WaitForHandlers it
//     returns after OnDone. A stream counts for MaxConcurrentStreams until it has ended, and then as
//     one of its connection's handlers until OnDone has returned.
//   - The context ends as always, and deadlines apply.
//   - Behind ServeHTTP the goroutines of net/http stay; everything else is the same.
//
// # Goroutines, locks and states
//
// Each stream has a turn (package internal/handover), the right to act for it. One goroutine at a time
// has the turn, or none has, and then the stream is armed. The goroutine with the turn asks what there
// is to do (arm), does it, and asks again; when there is nothing to do, it gives the turn up. When the
// connection wakes the stream and nobody has the turn, a goroutine of the pool gets it; otherwise the
// goroutine that has it will ask once more. So callbacks run one at a time, in order, and never on the
// goroutine that reads the connection. On a server the handler has the turn at first, until it has
// returned.
//
// Sending has a lock of its own. It guards the queue, and the stage of the sending side: open, ending
// (Finish was called, and messages wait), ended. It is held while a message is encoded and given to the
// connection, which does not wait, but not while a callback runs. The locks of the transport are taken
// after it. The transport never calls up while it holds them, except for the wake-up, which takes no
// lock.
//
// A server's stream is over when its context has ended, for whatever reason, and a client's when
// RecvMsg says so. The turn is then kept for good, OnDone is called, and the RPC is released.
//
// All of this may change, or be removed, in a later release.
package streams
