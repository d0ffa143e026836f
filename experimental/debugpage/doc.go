// SPDX-License-Identifier: Apache-2.0

// Package debugpage has a web page about a process, for people, to be served beside net/http/pprof: its
// servers and channels, their connections, what these hold, and which RPCs take longest.
//
//	var control servercontrol.Control
//	server := grpc.NewServer(control.Option())
//	http.Handle("/debug/grpc", &debugpage.Page{Servers: []*servercontrol.Control{&control}})
//
// # What it shows
//
// The first page has the totals of the process (package experimental/footprint), the servers, the
// channels, and the servers' RPCs that have been under way longest. Each number links to a page of its
// own: of a server and its connections, a channel and its subchannels, or a connection. The page of a
// connection says how old the connection is, whether it is parked or why it can't be, its streams,
// windows and messages, how much memory its peer makes it hold, why a stream last ended early, and, on
// Linux and macOS, the round trip as TCP measures it. The first page also has the last 16 connections of
// each server in [Page.Servers] that ended by an error.
// The page of a channel or subchannel has its state, its last error, and the trace of channelz.
//
// The page is also available as JSON, by the header "Accept: application/json" or by "format=json" in
// the query. Times are in the format of RFC 3339, durations in nanoseconds, sizes in bytes.
//
// Lists are divided into pages of [Page.Rows]. A page asks only those connections that are on it, so a list of
// connections is as quick with 100,000 of them as with ten. With [Page.Servers], the list of RPCs goes over all.
//
// # What it costs
//
// Importing the package turns on the records of channelz, as importing channelz/service does: they cost
// some atomic additions for each RPC, and about 100 bytes for each connection. Nothing runs between
// requests. RPCs are listed only for the servers in [Page.Servers], which keep a list of them (package
// experimental/servercontrol).
//
// # Edges
//
//   - Behind ServeHTTP connections belong to net/http, and are not on the page; RPCs are.
//   - Connections over bufconn, and wrapped ones that hide their socket, have no round trip.
//   - Each attempt of an RPC that is retried or hedged is a stream, and an RPC of its server.
//   - Channels to control planes (xDS, RLS) and to handshakers (ALTS) are on the page like others, and so
//     are the servers of package xds.
//   - The page does not show interceptors; an RPC is on the page while they run.
//   - Tools that read channelz, such as grpcdebug, see the same with and without the page.
//
// # Who may look
//
// Everyone who can fetch the page sees the addresses of all peers, the names of methods and targets,
// and what certificates say, but no metadata, no message and no key. The page changes nothing. It has
// no access control of its own: serve it where pprof is, or behind a handler that asks for a password.
//
// The HTML has no scripts and loads nothing from elsewhere, and its Content-Security-Policy says so.
//
// All of this may change, or be removed, in a later release.
package debugpage
