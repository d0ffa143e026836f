// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// ErrSkipped is the error of a case that needs more servers than the Config has.
var ErrSkipped = errors.New("skipped: it needs more servers")

// Sizes in the test descriptions.
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

// checkPayload requires a payload of the given size whose bytes are all zero.
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

// checkEnd requires that the stream ends with io.EOF, without another message.
func checkEnd[M any](recv func() (M, error)) error {
	switch _, err := recv(); {
	case err == nil:
		return errors.New("one message too many")
	case err != io.EOF:
		return fmt.Errorf("end of the stream: %w", err)
	}
	return nil
}
