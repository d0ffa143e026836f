// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// grpcStatuser is an error that has a status.
type grpcStatuser struct{ s *status.Status }

func (grpcStatuser) Error() string                { return "mine" }
func (g grpcStatuser) GRPCStatus() *status.Status { return g.s }

var statusErrors = []struct {
	name string
	err  error
}{
	{"nil", nil},
	{"plain", errors.New("plain")},
	{"status", status.Error(codes.NotFound, "nf")},
	{"OK as an error", status.Error(codes.OK, "ok")},
	{"formatted", status.Errorf(codes.Aborted, "%s %d", "a", 1)},
	{"wrapped", fmt.Errorf("outer: %w", status.Error(codes.NotFound, "nf"))},
	{"wrapped twice", fmt.Errorf("a: %w", fmt.Errorf("b: %w", status.Error(codes.NotFound, "nf")))},
	{"joined", errors.Join(errors.New("x"), status.Error(codes.DataLoss, "dl"))},
	{"GRPCStatus", grpcStatuser{status.New(codes.Internal, "int")}},
	{"GRPCStatus nil", grpcStatuser{nil}},
	{"GRPCStatus OK", grpcStatuser{status.New(codes.OK, "")}},
	{"GRPCStatus wrapped", fmt.Errorf("w: %w", grpcStatuser{status.New(codes.Internal, "int")})},
	{"GRPCStatus nil wrapped", fmt.Errorf("w: %w", grpcStatuser{nil})},
	{"GRPCStatus OK wrapped", fmt.Errorf("w: %w", grpcStatuser{status.New(codes.OK, "")})},
	{"canceled", context.Canceled},
	{"deadline", context.DeadlineExceeded},
	{"deadline wrapped", fmt.Errorf("w: %w", context.DeadlineExceeded)},
	{"canceled wrapped", fmt.Errorf("w: %w", context.Canceled)},
	{"EOF", io.EOF},
	{"unexpected EOF", io.ErrUnexpectedEOF},
	{"code 99", status.Error(codes.Code(99), "99")},
	{"ErrClientConnClosing", grpc.ErrClientConnClosing},
	{"ErrServerStopped", grpc.ErrServerStopped},
	{"ErrClientConnTimeout", grpc.ErrClientConnTimeout},
	{"control characters", status.Error(codes.Unknown, "a\nb\x00\xff%é")},
}

// statusProbes are those of package status and codes.
var statusProbes = func() []probe.Probe {
	var out []probe.Probe
	for _, c := range statusErrors {
		out = append(out, probe.Probe{Name: "value/" + c.name, Run: func(p *probe.P) {
			s, ok := status.FromError(c.err)
			p.Printf("FromError: %v %v %q nil=%v", ok, s.Code(), s.Message(), s == nil)
			p.Printf("Convert: %v %q String=%q", status.Convert(c.err).Code(), status.Convert(c.err).Message(), status.Convert(c.err).String())
			p.Printf("Code: %v, of a context: %v", status.Code(c.err), status.FromContextError(c.err))
			p.Printf("Err: %v, proto: %v", s.Err(), s.Proto())
			p.Printf("Is itself: %v, another: %v", errors.Is(c.err, c.err), errors.Is(c.err, status.Error(codes.NotFound, "nf")))
			p.Printf("deprecated: %v %q", grpc.Code(c.err), grpc.ErrorDesc(c.err))
			p.Printf("printed: %v|%+v|%s", c.err, c.err, c.err)
		}})
	}
	return append(out, otherStatusProbes...)
}()

var otherStatusProbes = []probe.Probe{
	{Name: "value/nil status", Run: func(p *probe.P) {
		var s *status.Status
		p.Printf("%v %q %v %v %v %q", s.Code(), s.Message(), s.Err(), s.Proto(), s.Details(), s.String())
		_, err := s.WithDetails()
		p.Printf("WithDetails: %v", err)
	}},
	{Name: "value/FromProto nil", Run: func(p *probe.P) {
		s := status.FromProto(nil)
		p.Printf("nil=%v %v %v %v", s == nil, s.Code(), s.Err(), s.Proto())
		rig.Try(p, "ErrorProto", func() error { return status.ErrorProto(nil) })
	}},
	{Name: "value/details", Run: func(p *probe.P) {
		s, err := status.New(codes.Aborted, "a").WithDetails(protoadapt.MessageV1Of(durationpb.New(5)))
		p.Printf("%v %v %v %v", s, err, s.Details(), s.Proto())
		again := status.FromProto(s.Proto())
		p.Printf("Is: %v %v", errors.Is(s.Err(), again.Err()), errors.Is(s.Err(), status.Error(codes.Aborted, "a")))
		_, err = status.New(codes.OK, "").WithDetails(protoadapt.MessageV1Of(durationpb.New(5)))
		p.Printf("of OK: %v", err)
		_, err = status.New(codes.Aborted, "").WithDetails(nil)
		p.Printf("of nil: %v", err)
	}},
	{Name: "value/details of an unknown type", Run: func(p *probe.P) {
		s, _ := status.New(codes.Aborted, "a").WithDetails(protoadapt.MessageV1Of(durationpb.New(5)))
		pb := s.Proto()
		pb.Details[0].TypeUrl = "type.googleapis.com/no.Such"
		for _, d := range status.FromProto(pb).Details() {
			p.Printf("%T %v", d, d)
		}
		pb.Details[0].TypeUrl = "type.googleapis.com/google.protobuf.Duration"
		pb.Details[0].Value = []byte{255}
		for _, d := range status.FromProto(pb).Details() {
			p.Printf("%T %v", d, d)
		}
	}},
	{Name: "value/code names", Run: func(p *probe.P) {
		for c := range codes.Code(19) {
			b, err := json.Marshal(c)
			p.Printf("%d %v %s %v", uint32(c), c, b, err)
		}
	}},
	{Name: "value/code from JSON", Run: func(p *probe.P) {
		for _, text := range []string{
			`"OK"`, `"CANCELLED"`, `"CANCELED"`, `"not_found"`, `1`, `"1"`, `16`, `17`, `-1`, `1.5`, `null`, `""`,
			`"UNAUTHENTICATED"`, `[]`, `99999999999`,
		} {
			c := codes.Code(77)
			err := c.UnmarshalJSON([]byte(text))
			p.Printf("%s: %d %v", text, uint32(c), err)
		}
		p.Printf("nil: %v", (*codes.Code)(nil).UnmarshalJSON([]byte("1")))
	}},
	{Name: "value/error in a map", Run: func(p *probe.P) {
		err := status.Error(codes.Aborted, "a")
		comparable(p, err)
		p.Printf("equal: %v", err == status.Error(codes.Aborted, "a"))
		p.Printf("%T %T", err, status.New(codes.Aborted, ""))
	}},
	{Name: "of handlers", Run: func(p *probe.P) {
		for _, c := range statusErrors {
			s := rig.Pair{Handlers: rig.Handlers{
				Unary:  func(context.Context, *rig.Msg) (*rig.Msg, error) { return rig.M("reply"), c.err },
				Stream: func(grpc.ServerStream) error { return c.err },
			}}.Start(p)
			got, err := s.Call(p.Context(), "")
			p.Printf("%s: unary %q %s", c.name, got, rig.Err(err))
			stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
			if err == nil {
				err = stream.RecvMsg(new(rig.Msg))
			}
			p.Printf("%s: stream %s", c.name, rig.Err(err))
		}
	}},
	{Name: "of a handler with details", Run: func(p *probe.P) {
		st, _ := status.New(codes.Aborted, "a\tb é").WithDetails(protoadapt.MessageV1Of(durationpb.New(5)))
		s := rig.Pair{Handlers: rig.Handlers{
			Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) { return nil, st.Err() },
		}}.Start(p)
		_, err := s.Call(p.Context(), "")
		p.Printf("%s %v", rig.Err(err), status.Convert(err).Details())
		p.Printf("same: %v", errors.Is(err, st.Err()))
	}},
	{Name: "of a handler that returns nothing", Run: func(p *probe.P) {
		s := rig.Pair{Handlers: rig.Handlers{
			Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) { return nil, nil },
		}}.Start(p)
		got, err := s.Call(p.Context(), "")
		p.Printf("%q %s", got, rig.Err(err))
	}},
}
