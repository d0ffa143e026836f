// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// afterGone is what a handler does once its client has gone.
var afterGone = []struct {
	name string
	do   func(grpc.ServerStream) error
}{
	{"Send", func(s grpc.ServerStream) error { return s.SendMsg(rig.M("x")) }},
	{"Recv", func(s grpc.ServerStream) error {
		return status.Error(status.Code(s.RecvMsg(new(rig.Msg))), "") // the text is that of either server
	}},
	{"Recv and Send", func(s grpc.ServerStream) error {
		_ = s.RecvMsg(new(rig.Msg))
		return s.SendMsg(rig.M("x"))
	}},
	{"two Sends", func(s grpc.ServerStream) error {
		_ = s.SendMsg(rig.M("x"))
		return s.SendMsg(rig.M("x"))
	}},
}

// goneProbes print what a handler behind net/http is told once its client has gone.
func goneProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range carriers {
		for _, then := range afterGone {
			out = append(out, probe.Probe{Name: "ServeHTTP behind " + c.name + "/the client goes, " + then.name, Run: func(p *probe.P) {
				said := make(chan string, 1)
				s := c.carry(p, rig.Handlers{Stream: func(s grpc.ServerStream) error {
					_ = s.SendHeader(nil)
					<-s.Context().Done()
					probe.Settle(moment) // until the module knows of it too
					err := then.do(s)
					said <- rig.Err(err)
					return err
				}})
				ctx, cancel := context.WithCancel(p.Context())
				defer cancel()
				stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
				if err != nil {
					panic(err)
				}
				_, _ = stream.Header()
				cancel()
				p.Printf("%s", <-said)
			}})
		}
	}
	return out
}

// brokenBodyProbes have the body of a request break off.
func brokenBodyProbes() []probe.Probe {
	var out []probe.Probe
	for _, err := range []error{
		io.ErrUnexpectedEOF, errors.New("broken"), os.ErrDeadlineExceeded, fmt.Errorf("broken: %w", io.EOF),
		http2.StreamError{StreamID: 1, Code: http2.ErrCodeCancel},
		http2.StreamError{StreamID: 1, Code: http2.ErrCodeInternal},
		http2.StreamError{StreamID: 1, Code: http2.ErrCodeRefusedStream},
		http2.StreamError{StreamID: 1, Code: http2.ErrCodeEnhanceYourCalm},
	} {
		for _, body := range []string{"", "\x00\x00", "\x00\x00\x00\x00\x05", "\x00\x00\x00\x00\x05a"} {
			out = append(out, probe.Probe{Name: fmt.Sprintf("ServeHTTP/a body of %d bytes, %v", len(body), err), Run: func(p *probe.P) { breakBody(p, body, err) }})
		}
	}
	return out
}

func breakBody(p *probe.P, body string, err error) {
	s := grpc.NewServer()
	p.Cleanup(s.Stop)
	s.RegisterService(rig.Handlers{Stream: func(s grpc.ServerStream) error {
		err := s.RecvMsg(new(rig.Msg)) // it is by chance whether the handler is called at all
		if status.Code(err) == codes.Unknown {
			return nil
		}
		return err
	}}.Desc(), nil)
	r := httptest.NewRequest(http.MethodPost, rig.Bidi, io.MultiReader(strings.NewReader(body), failing{err}))
	r.ProtoMajor, r.ProtoMinor = 2, 0
	r.Header.Set("Content-Type", "application/grpc")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	p.Printf("%q %q", w.Header()["Grpc-Status"], w.Header()["Grpc-Message"])
}

// failing is a body that breaks off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
