// SPDX-License-Identifier: Apache-2.0

// Package transport carries gRPC calls over connections: it is the part of
// HTTP/2 that knows of gRPC. Below it, package h2 runs a connection and knows
// nothing of calls; above it, the root package knows channels, services and
// codecs, and nothing of frames.
//
// [Client] and [Server] are thin: each is an [h2.Handler] that turns field
// blocks into calls and back, and its streams are [h2.Receiver]s that put
// messages together. All rules of the wire are in package grpcwire.
// [HandlerStream] is a call that came in through a server of net/http, whose
// HTTP/2 it uses.
//
// # Who runs what
//
// A connection has at most one reader, which calls the methods that
// implement Handler and Receiver and never waits in them. Everything else is
// called by the goroutines of the RPCs, or, for streams that were handed over
// (package handover), by their owners. A handler of the server runs on a
// goroutine of package warm. A call behind net/http is served by the goroutine of
// its request, and has another that reads its body.
//
// # What may wait
//
//   - Connect waits for the dialer, the handshake and the peer's SETTINGS.
//   - NewStream waits for a place under the peer's limit of streams.
//   - Recv, Header, AwaitReply and AwaitEnd wait for what is received.
//   - Send waits for room (h2.Stream.Offer). A server's Send, Reply and Finish also wait for a goroutine
//     that is just sending the headers.
//   - Behind net/http, all methods that write may wait for the client, and Serve waits for the end of the
//     call.
//   - A handler's goroutine, once the call has ended and HandleStream has returned, waits for a connection
//     that can only be written by waiting (h2.Stream.Leave).
//
// Nothing else waits.
//
// # Locks
//
// Each stream has a lock, mu, for what the reader hands to the RPC: messages, headers, the end. No goroutine
// holds mu while it takes h2's lock. What h2 calls with its lock held (AppendFields, and the Wake of a
// sender that waits for room) does not take mu. So there is no order between the two. A goroutine that waits
// for the reader, and not for a context as well, sleeps on mu. In a server's call, mu also guards the
// context. A call behind net/http has four more locks: out, which is held while the response is used, also while that
// waits for the client, and is taken before mu; gate (for interrupt), which is taken after out; and those of
// handlerBody and handedResponse. handlerBody's is taken after mu (HandOver). While it or handedResponse's is held,
// no other lock of this package is taken.
//
// Three locks are taken before h2's: that of the process's list of unparkable connections; drainWatch.mu, as
// drainWatch.of asks the connection whether it drains; and endWaits.mu, as sweepLocked and late ask for what a stream
// has not sent.
//
// # Files
//
//	client_*, connect, dial, proxy,      the client's side; client_core has its types
//	foreign, response
//	server_*, request, refusal,          the server's; server_core has its types
//	trailers, ping_policy, max_age,
//	method, bound
//	handler_*, handed_response           the server's, behind net/http
//	body, inbox, waker, reply, payload,  of a stream on either side
//	fields, fields_binary, kinds,
//	content_length, call
//	config, wire, errors, text           names, for this package and those above
//	open, unwatched, traffic, socket,    what is counted, logged and told to channelz
//	panic, trace
//	drain_watch                          contexts that end when a connection begins to drain
//
// # Buffers
//
// A received message is [grpcwire.Bytes]. They belong to the stream until Recv returns them, and to the
// caller from then on. A message to send belongs to the transport from the call on, even if the call fails.
//
// # What a peer can lengthen
//
// This list adds to that of package h2. What is kept of a field block is charged as one object, with the
// names and values in it; what a program gets of it is its own (TestRetention, TestMetadataKeepsNoBlock).
//
//	list                        bound                                      test
//	messages that are not read  the windows; charged, small ones with the  TestTinyMessages, TestInboxIsCompact
//	                            memory around them; small ones that arrive TestSmallMessagesAtOnce
//	                            together are split in one step
//	a message that is not whole what has arrived, twice at most            TestBytesThatCome
//	texts of refusals           the windows of their streams               TestRefusalsInWindows
//	the body of an answer that  1 KiB; charged                             TestForeignBodyIsCharged
//	is not of gRPC
//	what a proxy answers        16 KiB, 1 KiB of it in the error; as many  TestProxyErrors, TestProxyHeadEnds
//	                            reads as pieces arrive
//	values that are joined in a one for each 8 bytes, and 256 more         TestMalformedBinaryReply
//	"-bin" field
//	fields                      one step each, for each time that a        TestReferencesTakeNoTime
//	                            program asks
//	connections that can't be   one entry each, for the process            TestWhyNot
//	parked
//
// And outside of this package:
//
//	the start of a connection   64 KiB undecided, 96 KiB that are owed,    TestSnifferIsLinear, TestSnifferGivesUp
//	that oneport looks at       each byte looked at once
//	a record of TLS             one, of 18 KB, and what of it has arrived  TestTrickleHoldsWhatArrived
//	a record of ALTS            one, of 1 MiB, as it arrives               TestDeclaredLength
//	a handshake of ALTS         64 KiB                                     TestTooMuch
//	what a retry would send     MaxRetryRPCBufferSize bytes of memory      TestKeptMessages
//	channelz: events and texts  30 of 2 KB for each channel                TestTraceIsBounded, TestTraceTextIsBounded
//	channelz: a page of sockets all sockets of the server are looked at;   TestServerPages, TestReplyIsDropped
//	                            the reply is garbage once it is encoded
//	reflection: a name          100 parts: a registry looks for each name  TestNamesOfManyParts
//	                            that it begins with
//	opentelemetry, csm: labels  1000 of 2 KiB for each method; others are  TestPointsKeepLittle
//	of peers                    made anew
//	traces of x/net/trace       1000 services, names of 256 bytes, titles  TestFamiliesAreBounded
//	                            of 1 KiB
//	streams: a Group            one step for each member that leaves       TestMembers
//	regular expressions         64 KiB, 128 Ki steps of 40 bytes           TestBounds
//	xDS: resources              one parsed value for each that somebody    TestWatchersShareAResource
//	                            watches; the control plane is trusted
//
// # Where RFC 9113 says otherwise
//
// The rules of RFC 9113 and RFC 7541 that one side can break are kept, and each has a test
// that is named after its section, for both roles:
//
//	section     what                              where
//	3.2, 3.3    TLS and ALPN; 9.2                 tls_test.go of package credentials
//	3.4         prefaces                          closing_test.go of package h2
//	4 to 7      frames and streams: what breaks   violation_test.go there; drains, 6.8, and the
//	            a rule, and what does not         bound of the HPACK table, 4.3.1, in
//	                                              closing_test.go; windows, 6.9, in data_test.go
//	4 to 6      frames that we send               h2_monitor_test.go there, in all of its tests
//	5.1         states of streams                 stream_state_test.go there
//	5.1.2       the limit of streams              TestPlaces there
//	8           requests, responses               request_test.go, response_test.go
//	8           fields that we send               transport_raw_test.go, in all tests with raw peers
//	10.5        floods                            budget_test.go of package h2
//	RFC 7541    field blocks                      violation_test.go of package h2, and all of
//	                                              package hpack
//
// Rules that do not concern the two sides of a call are left out. These are for intermediaries (8.3.1,
// 10.3; RFC 7541, 6.2.3), for endpoints that accept pushes (6.6, 8.4: here each push is an error), and for
// crypto/tls (9.2.1, 9.2.3), which has no compression, and ends a connection whose peer renegotiates, or
// asks for a certificate after the handshake.
//
// This package differs from the RFCs in these points:
//
//	section  what is done instead                          why
//	3.3      a peer that does not do ALPN is accepted      the published module has the variable, for old
//	         with GRPC_ENFORCE_ALPN_ENABLED=false           peers
//	5.1      frames on closed streams are discarded        the peer may not have known yet; servers end the
//	         by clients, and by servers within a range      connection for HEADERS on streams the client ended
//	         of ids where they cut streams off
//	6.3      PRIORITY of a wrong length on an idle stream   a stream that is idle can't be reset
//	         ends the connection
//	6.5.3    surplus acknowledgements of SETTINGS are      what shares a port, such as cmux, sends SETTINGS
//	         ignored, within the budget of package h2       of its own before the server does
//	8.2.1    white space at either end of what the          clients send "Bearer " without a token, servers
//	         application fills passes: metadata,            messages that end in a space; PROTOCOL-HTTP2 lets
//	         user-agent, grpc-message                       it pass, and the values go nowhere else
//	8.2.3    several cookie fields are several values       metadata is not HTTP/1.1: code that passes it on
//	         of the metadata                                to HTTP/1.1 joins them
//	8.3.1    an empty :authority is sent, and accepted     connections in memory have no name
//	8.3.1    a Host beside :authority is discarded, also    gRFC A41 wants it; nobody behind the transport
//	         if the two differ                              sees another name than :authority
//	8.5      CONNECT is refused: without :path as           there is no tunnel through an RPC
//	         malformed, with one by 405
//	9.2      TLS 1.1 and suites of appendix A are used      the program has asked for them
//	         where a tls.Config names them
//
// This package is stricter than the published module, as the RFC asks, about te other than "trailers",
// connection-specific fields, content-length that contradicts DATA, missing :scheme, empty :path, and
// pseudo-headers in trailers. It is stricter than RFC 9113 in two points: a stream that depends on itself
// is an error, as it was in RFC 7540 (5.3.1); and SETTINGS with more entries than there can be, and floods
// of what is allowed once, are ENHANCE_YOUR_CALM (10.5).
package transport
