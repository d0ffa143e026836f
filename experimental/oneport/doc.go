// SPDX-License-Identifier: Apache-2.0

// Package oneport serves gRPC and HTTP on one port, in plain text or over TLS. A [Port] accepts
// connections from a listener, and passes each on to one of two other listeners: one for the grpc.Server
// and one for the http.Server. The servers need no change, except that
// an http.Server has to speak HTTP/2, as it does by default (see below). RPCs are then served as on a port of their
// own, where idle connections hold neither a goroutine nor a buffer; behind grpc.Server.ServeHTTP
// connections would belong to net/http.
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
//   - A connection that does not speak HTTP/2 goes to the http.Server. ALPN shows that if there is
//     TLS; otherwise the first bytes do.
//   - An HTTP/2 connection goes to the grpc.Server if its first request has a content type of gRPC
//     ("application/grpc", also with "+proto" or parameters, but not "application/grpc-web"), and
//     otherwise to the http.Server.
//   - An HTTP/2 client that sends no request for five seconds goes to the grpc.Server, as gRPC clients
//     connect before they have a call to make. A client that has not got as far as that after five
//     seconds goes to the http.Server, with what it has sent: the http.Server's timeouts limit
//     how long a slow client may take for the rest.
//
// The http.Server gets connections as if it had accepted them itself: as a *tls.Conn if there is TLS, and
// with everything that the client has sent. Its Protocols, timeouts and hooks apply. In plain text it
// serves HTTP/2 only if its Protocols say so. Over TLS the port offers HTTP/2 to all clients, and net/http serves it
// unless Protocols leave it out, or the server has a TLSConfig whose NextProtos does not name "h2": the port's config is
// in Options.TLS, and the server's TLSConfig best stays nil.
//
// A limit on the number of connections (netutil.LimitListener) belongs around the listener that the port is given, where
// those beyond it take nothing. Around a side of the port it makes them wait in the port, which has a goroutine for
// each and closes those that wait for longer than Options.HandshakeTimeout.
//
// # Both kinds on one connection
//
// Browsers, and other HTTP/2 clients, may send both kinds of requests on one connection. On a connection of
// the http.Server, gRPC requests reach its handler: [Handler] passes them to grpc.Server.ServeHTTP. On a
// connection of the grpc.Server, a request of the other kind is refused, unprocessed, with REFUSED_STREAM,
// and the connection accepts no more requests (GOAWAY). Clients then repeat the request on another
// connection by themselves (RFC 9113, section 8.7).
//
// # How it looks at a connection
//
// The port reads until it knows which server a connection is for, and then gives back what it has read. If
// a client waits for the server to speak first, the port sends it an empty SETTINGS frame, which asks for
// nothing. It then passes the connection on only after the client has acknowledged that frame, so that
// the server sees a connection as a client begins it.
//
// Over TLS, giving back needs access to fields of tls.Conn, as crypto/tls has no method for it. The port does
// not look at connections if the fields are not those that it knows, in builds with the tag
// grpcnotlsrelease, and if idle connections keep their buffers (see
// GRPC_GO_EXPERIMENTAL_TLS_IDLE_RELEASE and GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING, either of
// which, set to false, does that). All connections then go to the http.Server, where Handler serves
// gRPC too.
//
// # Stopping
//
// Each server stops as usual, with its own connections, and closes its own side of the port. Later
// connections for that side are closed. Serve returns when both sides are closed, or when [Port.Close] is
// called.
//
// All of this may change, or be removed, in a later release.
package oneport
