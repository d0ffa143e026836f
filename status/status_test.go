// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// foreign is an error of another package that has a status.
type foreign struct{ s *status.Status }

func (foreign) Error() string                { return "foreign" }
func (f foreign) GRPCStatus() *status.Status { return f.s }

func TestFromError(t *testing.T) {
	own := status.Error(codes.NotFound, "no such thing")
	tests := []struct {
		name    string
		err     error
		code    codes.Code
		message string
		ok      bool
	}{
		{"nil", nil, codes.OK, "", true},
		{"own", own, codes.NotFound, "no such thing", true},
		{"wrapped", fmt.Errorf("outer: %w", own), codes.NotFound, "outer: rpc error: code = NotFound desc = no such thing", true},
		{"joined", errors.Join(os.ErrClosed, own), codes.NotFound, os.ErrClosed.Error() + "\nrpc error: code = NotFound desc = no such thing", true},
		{"foreign", foreign{status.New(codes.Aborted, "inner")}, codes.Aborted, "inner", true},
		{"foreign wrapped", fmt.Errorf("outer: %w", foreign{status.New(codes.Aborted, "inner")}), codes.Aborted, "outer: foreign", true},
		{"foreign without status", foreign{}, codes.Unknown, "foreign", false},
		{"foreign without status, wrapped", fmt.Errorf("outer: %w", foreign{}), codes.Unknown, "outer: foreign", false},
		{"plain", os.ErrClosed, codes.Unknown, os.ErrClosed.Error(), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, ok := status.FromError(tt.err)
			if s.Code() != tt.code || s.Message() != tt.message || ok != tt.ok {
				t.Errorf("FromError: %v %q %v; want %v %q %v", s.Code(), s.Message(), ok, tt.code, tt.message, tt.ok)
			}
			if c := status.Convert(tt.err); c.Code() != tt.code || c.Message() != tt.message {
				t.Errorf("Convert: %v", c)
			}
			if c := status.Code(tt.err); c != tt.code {
				t.Errorf("Code: %v, want %v", c, tt.code)
			}
		})
	}
}

func TestOK(t *testing.T) {
	if err := status.Error(codes.OK, "ignored"); err != nil {
		t.Errorf("Error(OK): %v", err)
	}
	if err := status.ErrorProto(nil); err != nil {
		t.Errorf("ErrorProto(nil): %v", err)
	}
	var none *status.Status
	if none.Code() != codes.OK || none.Message() != "" || none.Err() != nil || none.Proto() != nil || none.Details() != nil {
		t.Errorf("nil Status is not OK: %v", none)
	}
	for _, s := range []*status.Status{status.New(codes.Aborted, ""), status.FromProto(&spb.Status{Code: 5})} {
		if d := s.Details(); d == nil || len(d) > 0 {
			t.Errorf("%v: the details are %#v, want an empty slice", s, d)
		}
	}
	if got, want := none.String(), "rpc error: code = OK desc = "; got != want {
		t.Errorf("nil Status prints %q", got)
	}
	if _, err := none.WithDetails(&errdetails.ErrorInfo{}); err == nil {
		t.Error("OK takes details")
	}
}

func TestErrorText(t *testing.T) {
	err := status.Errorf(codes.Internal, "%d bytes", 3)
	if got, want := err.Error(), "rpc error: code = Internal desc = 3 bytes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestIs(t *testing.T) {
	detailed, err := status.New(codes.NotFound, "x").WithDetails(durationpb.New(1))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := status.New(codes.NotFound, "x").WithDetails(durationpb.New(1))
	tests := []struct {
		a, b error
		want bool
	}{
		{status.Error(codes.NotFound, "x"), status.Error(codes.NotFound, "x"), true},
		{status.Error(codes.NotFound, "x"), status.Error(codes.NotFound, "y"), false},
		{status.Error(codes.NotFound, "x"), status.Error(codes.Aborted, "x"), false},
		{detailed.Err(), again.Err(), true},
		{detailed.Err(), status.Error(codes.NotFound, "x"), false},
		{fmt.Errorf("in: %w", detailed.Err()), again.Err(), true},
		{status.Error(codes.NotFound, "x"), os.ErrClosed, false},
	}
	for _, tt := range tests {
		if got := errors.Is(tt.a, tt.b); got != tt.want {
			t.Errorf("Is(%v, %v) = %v", tt.a, tt.b, got)
		}
	}
}

func TestDetails(t *testing.T) {
	info := &errdetails.ErrorInfo{Reason: "r", Domain: "d"}
	s, err := status.New(codes.NotFound, "x").WithDetails(info)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.WithDetails(wrapperspb.String("second")); err != nil {
		t.Fatal(err)
	}
	check := func(s *status.Status) {
		t.Helper()
		d := s.Details()
		if len(d) != 2 {
			t.Fatalf("%d details", len(d))
		}
		if got, ok := d[0].(*errdetails.ErrorInfo); !ok || !proto.Equal(got, info) {
			t.Errorf("first detail is %T %v", d[0], d[0])
		}
		if got, ok := d[1].(*wrapperspb.StringValue); !ok || got.Value != "second" {
			t.Errorf("second detail is %T %v", d[1], d[1])
		}
	}
	check(s)
	check(status.FromProto(s.Proto()))
	wrapped, ok := status.FromError(fmt.Errorf("outer: %w", s.Err()))
	if !ok || wrapped.Message() != "outer: "+s.Err().Error() {
		t.Errorf("wrapped: %v %v", wrapped, ok)
	}
	check(wrapped)
}

func TestUndecodableDetail(t *testing.T) {
	s := status.FromProto(&spb.Status{Code: 5, Details: []*anypb.Any{{TypeUrl: "type.example.com/not.linked.In"}}})
	d := s.Details()
	if len(d) != 1 {
		t.Fatalf("%d details", len(d))
	}
	if _, ok := d[0].(error); !ok {
		t.Errorf("the detail is %T, want an error", d[0])
	}
}

func TestFromNoProto(t *testing.T) {
	s := status.FromProto(nil)
	if s == nil || s.Code() != codes.OK || s.Proto() != nil || s.Err() != nil {
		t.Errorf("%v, %v", s, s.Proto())
	}
}

func TestProtoIsACopy(t *testing.T) {
	p := &spb.Status{Code: 5, Message: "x", Details: []*anypb.Any{{TypeUrl: "a"}}}
	s := status.FromProto(p)
	p.Message, p.Details[0].TypeUrl = "changed", "changed"
	out := s.Proto()
	if s.Message() != "x" || out.Message != "x" || out.Details[0].TypeUrl != "a" {
		t.Errorf("follows the argument: %v", out)
	}
	out.Details[0].TypeUrl = "changed"
	if s.Proto().Details[0].TypeUrl != "a" {
		t.Error("follows the result")
	}
}

func TestProtoKeepsUnknownFields(t *testing.T) {
	// Field 100, varint 1: of a later version of the message.
	b, err := proto.Marshal(&spb.Status{Code: 5, Message: "x"})
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, 0xa0, 0x06, 0x01)
	p := new(spb.Status)
	if err := proto.Unmarshal(b, p); err != nil {
		t.Fatal(err)
	}
	if got := status.FromProto(p).Proto(); !proto.Equal(got, p) {
		t.Errorf("got %v, want %v", got, p)
	}
}

func TestWithoutDetailsEqualsPlain(t *testing.T) {
	s, err := status.New(codes.NotFound, "x").WithDetails([]protoadapt.MessageV1{}...)
	if err != nil || !errors.Is(s.Err(), status.Error(codes.NotFound, "x")) {
		t.Errorf("%v, %v", s, err)
	}
}

func TestFromContextError(t *testing.T) {
	tests := []struct {
		err  error
		code codes.Code
	}{
		{nil, codes.OK},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{fmt.Errorf("dialing: %w", context.DeadlineExceeded), codes.DeadlineExceeded},
		{os.ErrClosed, codes.Unknown},
	}
	for _, tt := range tests {
		s := status.FromContextError(tt.err)
		if s.Code() != tt.code {
			t.Errorf("%v: %v", tt.err, s)
		}
		if tt.err != nil && s.Message() != tt.err.Error() {
			t.Errorf("%v: message %q", tt.err, s.Message())
		}
	}
}
