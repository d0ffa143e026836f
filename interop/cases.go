// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
)

// Case is one test case.
type Case struct {
	// Name is the case's name, which all implementations use.
	Name string
	// About says in a few words what the case tests.
	About string
	run   func(context.Context, *Client) error
}

// Run runs the case with client. The error says which assertion has failed, or is
// ErrSkipped.
func (c Case) Run(ctx context.Context, client *Client) error { return c.run(ctx, client) }

// Cases returns all cases: first those of the test descriptions, in the order there, and then
// this module's own, which test the channel rather than the wire.
func Cases() []Case {
	return []Case{
		{"empty_unary", "messages of zero bytes", emptyUnary},
		{"large_unary", "a unary call larger than the first flow-control window", largeUnary},
		{"client_compressed_unary", "unary requests, compressed and not", clientCompressedUnary},
		{"server_compressed_unary", "unary responses, compressed and not", serverCompressedUnary},
		{"client_streaming", "a stream of requests", clientStreaming},
		{"client_compressed_streaming", "compressed and plain requests on one stream", clientCompressedStreaming},
		{"server_streaming", "a stream of responses", serverStreaming},
		{"server_compressed_streaming", "compressed and plain responses on one stream", serverCompressedStreaming},
		{"ping_pong", "requests and responses in turn", pingPong},
		{"empty_stream", "a stream without any message", emptyStream},
		{"custom_metadata", "text and binary metadata as headers and trailers", customMetadata},
		{"status_code_and_message", "the server's status reaches the client", statusCodeAndMessage},
		{"special_status_message", "white space and Unicode in a status message", specialStatusMessage},
		{"unimplemented_method", "an unknown method of a known service", unimplementedMethod},
		{"unimplemented_service", "an unknown service", unimplementedService},
		{"cancel_after_begin", "cancelling before the first message", cancelAfterBegin},
		{"cancel_after_first_response", "cancelling between messages", cancelAfterFirstResponse},
		{"timeout_on_sleeping_server", "a deadline that passes", timeoutOnSleepingServer},
		{"orca_per_rpc", "a load report in the trailers of an RPC", orcaPerRPC},
		{"orca_oob", "load reports out of band", orcaOOB},
		{"wait_for_ready", "RPCs before the server listens, that wait and that don't", waitForReady},
		{"round_robin", "RPCs in turn over three servers", roundRobin},
		{"per_rpc_credentials", "credentials of channel and call, as metadata", perRPCCredentials},
	}
}
