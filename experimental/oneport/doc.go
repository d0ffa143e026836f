// SPDX-License-Identifier: Apache-2.0

// Package oneport serves gRPC and HTTP on one port, in plain text or over TLS: each connection
// goes to the server that it is for. A [Port] takes connections from a listener and passes
// them on to two others, one for the grpc.Server and one for the http.Server, which stay as
// they are. RPCs are then served as on a port of their own, where idle connections hold
// neither a goroutine nor a buffer; behind grpc.Server.ServeHTTP they would be net/http's.
//
//	port, err := oneport.New(lis, oneport.Options{TLS: config})
//	...
//	rpc := grpc.NewServer(grpc.Creds(oneport.Credentials()))
//	web := &http.Server{Handler: oneport.Handler(rpc, mux)}
//	go rpc.Serve(port.GRPC())
//	go web.Serve(port.HTTP())
//	err = port.Serve()
//
// # What goes where
//
//   - What does not speak HTTP/2 goes to HTTP: by ALPN, where there is TLS, or by the first
//     bytes.
//   - HTTP/2 whose first request has a content type of gRPC ("application/grpc", also with
//     "+proto" or parameters, but not "application/grpc-web") goes to gRPC, other HTTP/2 to HTTP.
//   - A client that speaks HTTP/2 and says nothing for five seconds goes to gRPC, as
//     clients of gRPC connect before they have a call to make. One that does not get as far
//     as that goes to HTTP after five seconds, with what it has said: how long a slow client may take
//     for the rest is for http.Server to say.
//
// The http.Server gets connections as if it had accepted them itself, a *tls.Conn where there
// is TLS, and everything that the client said. It needs no change; its Protocols, timeouts and
// hooks apply. In plain text it serves HTTP/2 only if its Protocols say so.
//
// # Both kinds on one connection
//
// Browsers, and others that talk HTTP/2, may send requests of both kinds on one connection. On
// one of HTTP those of gRPC reach its handler: [Handler] passes them to grpc.Server.ServeHTTP.
// On one of gRPC a request of another kind is refused, unserved, with REFUSED_STREAM, and the
// connection takes no more (GOAWAY): clients then repeat the request on another connection, by
// themselves (RFC 9113, section 8.7).
//
// # How it looks at a connection
//
// It reads until it knows, and gives what it has read back. Where a client waits for the
// server to speak first, it is sent an empty SETTINGS frame, which asks for nothing. The
// connection is passed on when the client has acknowledged it, so that the server finds the
// connection as a client leaves it that has just begun.
//
// Over TLS, giving back takes what crypto/tls does not offer, by field names of tls.Conn.
// Where these are not those known, in builds with the tag grpcnotlsrelease, and where idle
// connections keep their buffers (see GRPC_GO_EXPERIMENTAL_TLS_IDLE_RELEASE), the port does
// not look: all goes to HTTP, where Handler serves gRPC, too.
//
// # Stopping
//
// Each server stops as usual, with its own connections, and closes its own side of the port;
// what comes for it later is closed. Serve returns when both sides are closed, or [Port.Close]
// was called.
//
// All of this may change or go in a later release.
package oneport
