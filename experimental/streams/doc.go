// SPDX-License-Identifier: Apache-2.0

// Package streams has streaming RPCs without goroutines. A stream that waits, as those of
// watchers do most of the time, then costs what its state takes: about 2 KB on a server, where
// the handler of a stream otherwise stands in a goroutine with a stack of 4 KB or more. It works
// with generated code as it is.
//
// # Servers
//
// A handler hands its stream over, with the callbacks that tell of it, and returns nil. From
// then on the RPC lives until somebody calls Finish, or it fails:
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
// [Server] has what is done with it: messages are sent from any goroutine, and never wait.
// [ServerCallbacks] have what it tells: messages, the client's half-close, room to send again,
// and the end.
//
// # Clients
//
// [Open] begins an RPC whose messages are brought to callbacks, so that 10,000 watches of a
// channel hold no goroutine. It is retried, and ends, as any other.
//
// # Room
//
// A connection takes about 128 KiB for a stream that the other side does not read; after that
// there is no room. TrySend says so, Send has the message wait in a queue as long as Options
// let it, and what becomes of a message that finds the queue full is their owner's choice. When
// there is room, what waits is sent, and OnReady is called if somebody was refused.
//
// # One message for many
//
// [Shared] is a message that is sent to many streams: it is encoded and compressed once for all
// that have the same codec and compressor. [Group] sends to many streams at once, with a write
// for each connection rather than for each stream.
//
// # What others see
//
//   - Interceptors see the handler return nil at the hand-over; one that measures how long
//     handlers take measures that. They can't be held back until the end, for what they do after
//     the handler is code on a goroutine's stack, which is what is given up here. If one returns
//     an error the RPC ends with it. An interceptor that wants to know of the end can have it
//     from context.AfterFunc of the stream's context, or be a stats handler.
//   - Streams that interceptors have wrapped are used as wrapped: all messages pass through
//     their SendMsg and RecvMsg, and RecvMsg returns io.EOF at the half-close. One that waits in
//     there holds a goroutine meanwhile. It must not send on the same stream.
//   - Stats handlers, telemetry, the binary log and channelz see the RPC as it is: its end when it
//     ends. They may be called with the stream's sending lock held, and must not send.
//   - GracefulStop waits until the streams have been finished, Stop ends them, with
//     WaitForHandlers after OnDone. A stream counts for MaxConcurrentStreams until it has ended, and
//     then among the handlers of its connection until OnDone has returned.
//   - The context ends as always, and deadlines are kept.
//   - Behind ServeHTTP the goroutines of net/http stay; all else is the same.
//
// # Goroutines, locks and states
//
// A stream has a turn (package internal/handover): one goroutine at a time acts for it, or nobody
// does, and then it is armed. Whoever has the turn asks what there is to do (arm), does it, and
// asks again; when there is nothing it gives the turn up. A wake-up from the connection then
// takes the turn and gives it to a goroutine that is kept warm for such work; while somebody has
// the turn it makes them ask once more. So callbacks come one at a time, in order, and never on
// the goroutine that reads the connection. On a server the turn is the handler's at first, until
// it has returned.
//
// What sends has a lock of its own, with the queue and the stage of the sending side: open,
// ending (Finish was called, something waits), ended. It is held while a message is encoded and
// given to the connection, which does not wait, but not while a callback runs. Below it are the
// locks of the transport, which never call up but for the wake-up, which takes none.
//
// A server's stream is over when its context has ended, for whatever reason, and a client's when
// RecvMsg says so. Then the turn is kept for good, OnDone called, and the RPC let go of.
//
// All of this may change or go in a later release.
package streams
