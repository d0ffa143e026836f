// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"time"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/status"
)

// Call is what a call says about itself in its request headers. The caller must not change it, nor use it
// for another call, before NewStream has returned.
type Call struct {
	Method            string // "/package.Service/Method"
	Authority         string // "": the connection's
	ContentSubtype    string
	SendCompressor    string // "": none
	AcceptCompressors string // value of grpc-accept-encoding, "": none
	PreviousAttempts  int
	MaxRecvMsgSize    int
	// Auth are the fields of per-RPC credentials, and Picked the picker's metadata, in
	// lower case, keys and values in turn. The application's own metadata, which is in
	// the context, goes between them.
	Auth, Picked []string

	// Watched says that the caller ends the stream, by Cancel or Fail, when the context ends:
	// then nothing that waits on the stream has to look at the context as well.
	Watched bool

	outgoing   *ctxkey.Outgoing
	checked    bool // outgoing may be sent
	timeoutBuf [12]byte
	timeout    string
}

// Check takes the application's metadata from ctx and checks whether it can be sent. NewStream calls Check
// if the caller has not, or has called Recheck since. The error has a status.
func (c *Call) Check(ctx context.Context) error {
	if c.checked {
		return nil
	}
	outgoing := ctxkey.OutgoingFrom(ctx)
	if c.Method == "" { // RFC 9113, section 8.3.1: a request with an empty :path is malformed
		return status.Error(codes.Unimplemented, `malformed method name: ""`)
	}
	c.outgoing = outgoing
	var bad error
	if outgoing != nil {
		outgoing.Range(func(k, v string) bool {
			_, bad = grpcwire.CheckPair(k, v)
			return bad == nil
		})
	}
	if bad != nil {
		return status.Error(codes.Internal, bad.Error())
	}
	c.checked = true
	return nil
}

// Recheck makes NewStream check the metadata again, because the call goes on with a context that may have
// other metadata. Finding the metadata costs more than it seems: a context asks its parents one by one.
func (c *Call) Recheck() { c.checked = false }

// prepare checks what is to be sent and settles the timeout, so that writing the fields
// can't fail and always has the same result.
func (c *Call) prepare(ctx context.Context) error {
	if err := c.Check(ctx); err != nil {
		return err
	}
	if bad := checkPairs(c.Auth); bad != nil {
		return status.Error(codes.Internal, bad.Error())
	}
	if bad := checkPairs(c.Picked); bad != nil {
		return status.Error(codes.Internal, bad.Error())
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		if left <= 0 {
			return context.DeadlineExceeded
		}
		b := grpcwire.AppendTimeout(c.timeoutBuf[:0], left)
		c.timeout = unsafe.String(&b[0], len(b)) // lives as long as the call
	}
	return nil
}

func checkPairs(kv []string) error {
	for i := 0; i+1 < len(kv); i += 2 {
		if _, err := grpcwire.CheckPair(kv[i], kv[i+1]); err != nil {
			return err
		}
	}
	return nil
}
