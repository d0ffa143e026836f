// SPDX-License-Identifier: Apache-2.0

// Package drain tells RPCs that their connection is about to go, so that long streams can say
// goodbye while there is time. It needs no option, and works with generated code as it is.
//
// # Servers
//
// A handler asks with its context:
//
//	func (h *hub) Watch(req *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.Event]) error {
//		draining := drain.Done(stream.Context())
//		for {
//			select {
//			case e := <-h.events:
//				if err := stream.Send(e); err != nil {
//					return err
//				}
//			case <-draining:
//				return status.Error(codes.Unavailable, "come again: this server is being restarted")
//			}
//		}
//	}
//
// A connection drains from the moment at which its GOAWAY is written: because of GracefulStop,
// keepalive.ServerParameters.MaxConnectionAge, a control plane that replaces the listener's
// resource (xDS), or because somebody drains this connection alone. The RPCs on it go on, for as
// long as they like; GracefulStop waits for them. After MaxConnectionAge they have
// MaxConnectionAgeGrace, and 10 minutes after the resource was replaced or has gone; then the
// connection is closed. It is no drain if the connection is lost, or closed by Stop: then the RPC's
// context ends, and nothing else is told.
//
// Streams without a goroutine (package experimental/streams) use [AfterFunc], which holds none
// either:
//
//	w, err := streams.ServerStreaming(stream, &h.calls, &h.opts)
//	...
//	drain.AfterFunc(w.Context(), func() { w.Finish(errRestart) })
//
// # Clients
//
// [Client] is the same for a stream of a client: its channel is closed when the server has said
// GOAWAY. The channel of the application makes another connection for new RPCs then, so the
// application opens a second stream, and closes the first when the second has taken over.
//
// # Edges
//
//   - Interceptors: any context that derives from the RPC's will do, and any stream whose Context
//     does.
//   - Retries and hedging: [Client] is of the attempt that counts. To ask for it is to settle which that
//     is, as with ClientStream.Context: from there on the RPC is not retried. A hedged stream has
//     none before Header or RecvMsg has returned. Servers see each attempt as an RPC of its own.
//   - Behind ServeHTTP connections are net/http's, which does not say when they drain. There, Done
//     tells of GracefulStop alone (and of Stop).
//   - bufconn, TLS, unix sockets: as with TCP.
//   - It costs nothing where nobody asks, a hundred bytes for a connection that is asked about,
//     and with AfterFunc a little more for each RPC.
//
// All of this may change or go in a later release.
package drain

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/ctxkey"
)

// Done returns a channel that is closed when the connection of an RPC begins to drain, at once if
// it does already. ctx is the context of the RPC's handler, or derives from it; with any other the
// channel is nil, and never closed.
func Done(ctx context.Context) <-chan struct{} {
	if d := of(ctx.Value(ctxkey.ServerConn{})); d != nil {
		return d.Done()
	}
	return nil
}

// AfterFunc has f called on a goroutine of its own when the connection of an RPC begins to drain,
// at once if it does already. ctx is as for [Done]. It calls f at most once, and not any more
// when ctx has ended. stop keeps f from being called, and reports whether it did; it need not be
// called.
func AfterFunc(ctx context.Context, f func()) (stop func() bool) {
	d := of(ctx.Value(ctxkey.ServerConn{}))
	if d == nil {
		return func() bool { return false }
	}
	stop = context.AfterFunc(d, func() {
		if ctx.Err() == nil { // else stop is about to be called
			f()
		}
	})
	context.AfterFunc(ctx, func() { stop() })
	return stop
}

// Client returns a channel that is closed when the server has announced that the connection of a
// client's stream drains, at once if it has already. Like stream.Context it is to be
// called after Header or RecvMsg has returned: the RPC is not retried from there on. It is nil
// where it is not known which server answers.
func Client(stream grpc.ClientStream) <-chan struct{} {
	if d := of(stream.Context().Value(ctxkey.ClientConn{})); d != nil {
		return d.Done()
	}
	return nil
}

// of is when a connection drains; nil: that is not known.
func of(conn any) context.Context {
	if d, ok := conn.(ctxkey.Drainer); ok {
		return d.Draining()
	}
	return nil
}
