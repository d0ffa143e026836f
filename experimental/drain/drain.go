// SPDX-License-Identifier: Apache-2.0

// Package drain tells RPCs that their connection is about to close, so that long streams can say
// goodbye while there is time. It needs no option, and works with generated code as it is.
//
// # Servers
//
// A handler asks by its context:
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
// A connection drains from the moment at which its GOAWAY is written. The reason is GracefulStop,
// keepalive.ServerParameters.MaxConnectionAge, a control plane that replaces the listener's resource
// (xDS), or that the program drains this connection alone. The RPCs on it go on, for as long as they like;
// GracefulStop waits for them. After MaxConnectionAge they have MaxConnectionAgeGrace, and after the
// resource was replaced or removed they have 10 minutes; then the connection is closed. A connection that
// is lost, or closed by Stop, does not drain: the contexts of its RPCs end, and nothing else is reported.
//
// Streams without a goroutine (package experimental/streams) use [AfterFunc], which needs no goroutine
// either:
//
//	w, err := streams.ServerStreaming(stream, &h.calls, &h.opts)
//	...
//	drain.AfterFunc(w.Context(), func() { w.Finish(errRestart) })
//
// # Clients
//
// [Client] does the same for a stream of a client: its channel is closed when the server has sent
// GOAWAY. The grpc.ClientConn then makes another connection for new RPCs, so the application opens a
// second stream, and closes the first when the second has taken over.
//
// # Edges
//
//   - Interceptors: any context that derives from the RPC's will do, and any stream whose Context
//     derives from it.
//   - Retries and hedging: [Client] is about the attempt that counts. Like ClientStream.Context, a call
//     of it settles which attempt that is: the RPC is not retried from then on. For a hedged stream,
//     Client returns nil until Header or RecvMsg has returned. Servers see each attempt as an RPC of
//     its own.
//   - Behind ServeHTTP connections belong to net/http, which does not say when they drain. There,
//     Done only tells of GracefulStop (and of Stop).
//   - bufconn, TLS, unix sockets: as with TCP.
//   - It costs nothing for connections that nobody asks about, a hundred bytes for one that somebody
//     asks about, and with AfterFunc a little more for each RPC.
//
// All of this may change, or be removed, in a later release.
package drain

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/ctxkey"
)

// Done returns a channel that is closed when the connection of an RPC begins to drain. If the connection
// drains already, the channel is closed at once. ctx is the context of the RPC's handler, or derives from
// it. For any other ctx the channel is nil.
func Done(ctx context.Context) <-chan struct{} {
	if d := of(ctx.Value(ctxkey.ServerConn{})); d != nil {
		return d.Done()
	}
	return nil
}

// AfterFunc calls f on a goroutine of its own when the connection of an RPC begins to drain, or at once
// if the connection drains already. ctx is as for [Done]. f is called at most once, and not after ctx
// has ended. stop keeps f from being called, and reports whether it did. There is no need to call
// stop.
func AfterFunc(ctx context.Context, f func()) (stop func() bool) {
	d := of(ctx.Value(ctxkey.ServerConn{}))
	if d == nil {
		return func() bool { return false }
	}
	stop = context.AfterFunc(d, func() {
		if ctx.Err() == nil { // otherwise the AfterFunc below is about to call stop
			f()
		}
	})
	context.AfterFunc(ctx, func() { stop() })
	return stop
}

// Client returns a channel that is closed when the server has announced that the connection of a
// client's stream drains. If the server already has, the channel is closed at once. As with
// stream.Context, call Client after Header or RecvMsg has returned: the RPC is not retried from then
// on. The channel is nil if it is not known which server answers.
func Client(stream grpc.ClientStream) <-chan struct{} {
	if d := of(stream.Context().Value(ctxkey.ClientConn{})); d != nil {
		return d.Done()
	}
	return nil
}

// of returns a context that ends when conn begins to drain, or nil if that is not known.
func of(conn any) context.Context {
	if d, ok := conn.(ctxkey.Drainer); ok {
		return d.Draining()
	}
	return nil
}
