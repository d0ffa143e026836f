// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// Case is one case of the test descriptions.
type Case struct {
	// Name is the one that all implementations use for it.
	Name string
	// About says in a few words what it shows.
	About string
	run   func(context.Context, *Client) error
}

// ErrSkipped says that a case needs more than the Config of its client has.
var ErrSkipped = errors.New("skipped: it needs more servers")

// Run runs the case over client. The error says which of its assertions does not hold, or
// is ErrSkipped.
func (c Case) Run(ctx context.Context, client *Client) error { return c.run(ctx, client) }

// Cases returns every case: those of the descriptions in their order, then those that are
// not described, which look at the channel more than at the wire.
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

// Sizes that the descriptions ask for.
const (
	largeRequest  = 271828
	largeResponse = 314159
)

var (
	requestSizes  = []int{27182, 8, 1828, 45904}
	responseSizes = []int{31415, 9, 2653, 58979}
)

func zeros(n int) *testpb.Payload { return &testpb.Payload{Body: make([]byte, n)} }

func boolean(v bool) *testpb.BoolValue { return &testpb.BoolValue{Value: v} }

// largeCall is the request that most unary cases start from.
func largeCall() *testpb.SimpleRequest {
	return &testpb.SimpleRequest{ResponseSize: largeResponse, Payload: zeros(largeRequest)}
}

// checkPayload requires a payload of size zero bytes.
func checkPayload(p *testpb.Payload, size int) error {
	if len(p.GetBody()) != size {
		return fmt.Errorf("payload of %d bytes, want %d", len(p.GetBody()), size)
	}
	if len(bytes.Trim(p.GetBody(), "\x00")) != 0 {
		return errors.New("payload has bytes other than zero")
	}
	return nil
}

// checkCode requires an error with the code.
func checkCode(err error, want codes.Code) error {
	if got := status.Code(err); got != want {
		if err == nil {
			return fmt.Errorf("no error, want %v", want)
		}
		return fmt.Errorf("code %v, want %v (error: %w)", got, want, err)
	}
	return nil
}

// checkStatus requires an error with both code and message.
func checkStatus(err error, want *testpb.EchoStatus) error {
	if err := checkCode(err, codes.Code(want.GetCode())); err != nil {
		return err
	}
	if got := status.Convert(err).Message(); got != want.GetMessage() {
		return fmt.Errorf("status message %q, want %q", got, want.GetMessage())
	}
	return nil
}

// checkEnd requires that the stream ends well, without a further message.
func checkEnd[M any](recv func() (M, error)) error {
	switch _, err := recv(); {
	case err == nil:
		return errors.New("one message too many")
	case err != io.EOF:
		return fmt.Errorf("end of the stream: %w", err)
	}
	return nil
}
