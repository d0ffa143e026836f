// SPDX-License-Identifier: Apache-2.0

// Package debugpage is a page for people who look at a process, to be put beside net/http/pprof:
// its servers and channels, their connections, what these hold, and which RPCs take longest.
//
//	var control servercontrol.Control
//	server := grpc.NewServer(control.Option())
//	http.Handle("/debug/grpc", &debugpage.Page{Servers: []*servercontrol.Control{&control}})
//
// # What it shows
//
// The first page has the totals of the process (package experimental/footprint), the servers, the
// channels, and the server's RPCs that have been under way longest. Behind each number is a page of
// its own: a server and its connections, a channel and its subchannels, a connection. A
// connection says how old it is, whether it is parked or why it cannot be, its streams, windows,
// messages, what its peer has it hold, why a stream last ended before its time, and, on Linux and macOS,
// the round trip as TCP measures it. Connections of the servers in [Page.Servers] that ended by an error
// are on the first page, the last 16 of each server.
// A channel or subchannel says its state and its last error, and has the trace of channelz.
//
// The same is given as JSON to who asks for it: by the header "Accept: application/json", or by
// "format=json" in the query. Times are of RFC 3339, durations are in nanoseconds, sizes in bytes.
//
// Lists are cut into pages of [Page.Rows]; a page asks only those connections that are on it, so
// that it is as quick with 100,000 connections as with ten.
//
// # What it costs
//
// To import the package switches the records of channelz on, as to import channelz/service does:
// some atomic additions an RPC, about 100 bytes a connection. Nothing runs while nobody looks. RPCs
// are listed for the servers in [Page.Servers], which keep a list of them (package
// experimental/servercontrol).
//
// # Edges
//
//   - Behind ServeHTTP connections are net/http's, and not on the page; RPCs are.
//   - Connections over bufconn, and wrapped ones that hide their socket, have no round trip.
//   - Each attempt of an RPC that is retried or hedged is a stream, and an RPC of its server.
//   - Channels to control planes (xDS, RLS) and to handshakers (ALTS) are channels like others, as are
//     the servers of package xds.
//   - Interceptors are not seen; an RPC is on the page while they run.
//   - Tools that read channelz, such as grpcdebug, see what they saw, with or without the page.
//
// # Who may look
//
// Whoever can fetch the page sees the addresses of all peers, the names of methods and targets,
// and what certificates say; no metadata, no message, no key. It changes nothing. It has
// no access control of its own: put it where pprof is, or behind a handler that asks for a password.
//
// The HTML has neither scripts nor anything from elsewhere, and says so in its
// Content-Security-Policy.
//
// All of this may change or go in a later release.
package debugpage
