// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// pauses are the last that a raw client does on stream 1. What ends a stream follows what
// came before it a while later: where both come at once a race decides what a handler sees.
var pauses = []struct {
	name string
	do   func(*rig.Raw)
}{
	{"headers", nil},
	{"half a prefix", func(r *rig.Raw) { _ = r.WriteData(1, false, reply[:3]) }},
	{"half a message", func(r *rig.Raw) { _ = r.WriteData(1, false, reply[:7]) }},
	{"a message", func(r *rig.Raw) { _ = r.WriteData(1, false, reply) }},
	{"an empty message", func(r *rig.Raw) { _ = r.WriteData(1, false, rig.Frame(0, "")) }},
	{"two messages", func(r *rig.Raw) { _ = r.WriteData(1, false, append(reply[:len(reply):len(reply)], reply...)) }},
	{"a message and a half", func(r *rig.Raw) {
		_ = r.WriteData(1, false, append(reply[:len(reply):len(reply)], reply[:7]...))
	}},
	{"bad proto", func(r *rig.Raw) { _ = r.WriteData(1, false, rig.Frame(0, "\xff\xff")) }},
	{"bad flag", func(r *rig.Raw) { _ = r.WriteData(1, false, rig.Frame(7, "x")) }},
	{"compressed without encoding", func(r *rig.Raw) { _ = r.WriteData(1, false, rig.Frame(1, "x")) }},
	{"prefix of one too large", func(r *rig.Raw) { _ = r.WriteData(1, false, []byte("\x00\x7f\xff\xff\xff")) }},
	{"end", func(r *rig.Raw) { _ = r.WriteData(1, true, nil) }},
	{"a message, end", func(r *rig.Raw) { _ = r.WriteData(1, true, reply) }},
	{"a message, RST", func(r *rig.Raw) {
		_ = r.WriteData(1, false, reply)
		probe.Settle(moment / 2)
		_ = r.WriteRSTStream(1, http2.ErrCodeCancel)
	}},
	{"half a message, RST", func(r *rig.Raw) {
		_ = r.WriteData(1, false, reply[:7])
		probe.Settle(moment / 2)
		_ = r.WriteRSTStream(1, http2.ErrCodeCancel)
	}},
	{"a message, end, RST", func(r *rig.Raw) {
		_ = r.WriteData(1, true, reply)
		probe.Settle(moment / 2)
		_ = r.WriteRSTStream(1, http2.ErrCodeCancel)
	}},
	{"a message, GOAWAY", func(r *rig.Raw) {
		_ = r.WriteData(1, false, reply)
		_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
	}},
	{"a message, close", func(r *rig.Raw) {
		_ = r.WriteData(1, false, reply)
		probe.Settle(moment / 2)
		_ = r.Close()
	}},
	{"half a message, close", func(r *rig.Raw) {
		_ = r.WriteData(1, false, reply[:7])
		probe.Settle(moment / 2)
		_ = r.Close()
	}},
}

// endings are what happens to an RPC whose client has paused. Deadlines are not here: in the
// published server a race decides whether an RPC is canceled, has exceeded its deadline, or
// is answered.
var endings = []struct {
	name string
	do   func(*rig.Raw, *rig.Started)
}{
	{"nothing", func(*rig.Raw, *rig.Started) {}},
	{"end", func(r *rig.Raw, _ *rig.Started) { _ = r.WriteData(1, true, nil) }},
	{"RST", func(r *rig.Raw, _ *rig.Started) { _ = r.WriteRSTStream(1, http2.ErrCodeCancel) }},
	{"Stop", func(_ *rig.Raw, s *rig.Started) { s.Server.Stop() }},
}

func pauseProbes() []probe.Probe {
	var out []probe.Probe
	for _, pause := range pauses {
		for _, path := range []string{rig.Unary, rig.ServerStream, rig.ClientStream} {
			out = append(out, probe.Probe{Name: "pause/" + pause.name + path[len("/probe.Probe"):], Limit: 20 * time.Second, Run: func(p *probe.P) {
				r, s := paused(p, path, pausedHandlers)
				if pause.do != nil {
					pause.do(r.Raw)
				}
				r.settle(p)
				p.Printf("Stop: %s", stopped(s.Server.GracefulStop))
				r.settle(p)
				s.Server.Stop()
				r.settle(p)
			}})
		}
	}
	for _, ending := range endings {
		for _, h := range lateHandlers {
			out = append(out, probe.Probe{Name: "pause/" + h.name + ", then " + ending.name, Limit: 20 * time.Second, Run: func(p *probe.P) {
				r, s := paused(p, h.path, h.handlers)
				_ = r.WriteData(1, false, reply)
				probe.Settle(moment / 2)
				ending.do(r.Raw, s)
				probe.Settle(moment * 2)
				r.settle(p)
			}})
		}
	}
	return out
}

// stopped says whether stop returns soon.
func stopped(stop func()) string {
	done := make(chan struct{})
	go func() { defer close(done); stop() }()
	select {
	case <-done:
		return "returned"
	case <-probe.Quiet(moment):
		return "waits"
	}
}

// pausing is a raw client, what it has seen, and what its server's handlers tell.
type pausing struct {
	*rig.Raw
	seen *sights
	j    *journal
	rec  *recorder
}

// settle prints what there is a moment later.
func (c pausing) settle(p *probe.P) {
	probe.Settle(moment)
	c.j.print(p)
	c.seen.print(p, "the client")
	c.j.mu.Lock()
	c.j.lines = nil
	c.j.mu.Unlock()
	c.rec.print(p, "stats")
	c.rec.mu.Lock()
	c.rec.rpcs = nil
	c.rec.mu.Unlock()
}

// paused is a client that has sent the headers of a request.
func paused(p *probe.P, path string, handlers func(*journal) rig.Handlers) (pausing, *rig.Started) {
	c := pausing{seen: new(sights), j: &journal{}, rec: newRecorder()}
	s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.StatsHandler(c.rec)}, Handlers: handlers(c.j)}.Serve(p)
	c.Raw = rig.RawClient(p, s.Listener.Addr().String())
	c.Headers(1, false, rig.RequestFields(":path", path)...)
	reader := &rig.Raw{Conn: c.Conn, Framer: http2.NewFramer(c.Conn, c.Conn)} // its answers are written beside
	reader.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	go func() {
		for {
			f, err := reader.Next()
			if err != nil {
				return
			}
			c.seen.see(f)
		}
	}()
	return c, s
}

// watchContext tells of the end of ctx.
func watchContext(ctx context.Context, j *journal) {
	context.AfterFunc(ctx, func() { j.add("context: %v", ctx.Err()) })
}

// pausedHandlers receive all there is and answer.
func pausedHandlers(j *journal) rig.Handlers {
	return rig.Handlers{
		Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			j.add("handler with %q, %v", m.GetValue(), ctx.Err())
			return m, nil
		},
		Stream: func(s grpc.ServerStream) error {
			j.add("handler, %v", s.Context().Err())
			for {
				said := receive(s)()
				j.add("RecvMsg: %s", said)
				if said[0] != '"' {
					break
				}
			}
			err := s.SendMsg(rig.M("reply"))
			j.add("SendMsg: %s", rig.Err(err))
			return err
		},
	}
}

// lateHandlers are what handlers do beside a client that has sent one message and no end.
var lateHandlers = []struct {
	name, path string
	handlers   func(*journal) rig.Handlers
}{
	{"returns without reading", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			j.add("returns")
			return nil
		}}
	}},
	{"answers without reading", rig.ClientStream, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			err := s.SendMsg(rig.M("early"))
			j.add("SendMsg: %s", rig.Err(err))
			return err
		}}
	}},
	{"waits for its context", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			<-s.Context().Done()
			err := s.Context().Err()
			j.add("context: %v", err)
			j.add("SendMsg: %s", rig.Err(s.SendMsg(rig.M("late"))))
			j.add("SetHeader: %s", rig.Err(s.SetHeader(metadata.Pairs("a", "b"))))
			j.add("SendHeader: %s", rig.Err(s.SendHeader(metadata.Pairs("a", "b"))))
			return err
		}}
	}},
	{"waits for its context and succeeds", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			<-s.Context().Done()
			return nil
		}}
	}},
	{"waits for its context and fails", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			<-s.Context().Done()
			return status.Error(codes.Aborted, "aborted")
		}}
	}},
	{"receives", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			for {
				said := receive(s)()
				j.add("RecvMsg: %s, %v", said, s.Context().Err())
				if said[0] != '"' {
					break
				}
			}
			j.add("SendMsg: %s", rig.Err(s.SendMsg(rig.M("late"))))
			return nil
		}}
	}},
	{"returns what it receives", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			for {
				if err := s.RecvMsg(new(rig.Msg)); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
			}
		}}
	}},
	{"sends until it fails", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			big := rig.M(string(make([]byte, 40000))) // two do not fit into a window
			for {
				if err := s.SendMsg(big); err != nil {
					// Whether the stream or the connection has ended first is chance.
					err = status.Error(status.Code(err), strings.ReplaceAll(status.Convert(err).Message(), "stream is done", "transport is closing"))
					j.add("SendMsg: %s", rig.Err(err))
					<-s.Context().Done()
					j.add("context: %v", s.Context().Err())
					return err
				}
			}
		}}
	}},
	{"ignores that it cannot send", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			j.add("SendMsg: %s", rig.Err(s.SendMsg("nonsense")))
			return nil
		}}
	}},
	{"ignores that it cannot receive", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			j.add("RecvMsg: %s", rig.Err(s.RecvMsg("nonsense")))
			return nil
		}}
	}},
	{"fails otherwise than it sends", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			j.add("SendMsg: %s", rig.Err(s.SendMsg("nonsense")))
			return status.Error(codes.Aborted, "aborted")
		}}
	}},
	{"receives beside", rig.Bidi, func(j *journal) rig.Handlers {
		return rig.Handlers{Stream: func(s grpc.ServerStream) error {
			done := make(chan struct{})
			go func() {
				defer close(done)
				j.add("RecvMsg: %s", receive(s)())
				j.add("RecvMsg: %s", receive(s)())
			}()
			probe.Settle(moment / 4)
			context.AfterFunc(s.Context(), func() {
				<-done
				j.add("context: %v", s.Context().Err())
			})
			return nil
		}}
	}},
	{"unary waits for its context", rig.Unary, func(j *journal) rig.Handlers {
		return rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			j.add("handler")
			<-ctx.Done()
			j.add("context: %v", ctx.Err())
			j.add("SendHeader: %s", rig.Err(grpc.SendHeader(ctx, metadata.Pairs("a", "b"))))
			j.add("SetTrailer: %s", rig.Err(grpc.SetTrailer(ctx, metadata.Pairs("a", "b"))))
			return m, nil
		}}
	}},
	{"unary returns its context's error", rig.Unary, func(j *journal) rig.Handlers {
		return rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
			_ = grpc.SendHeader(ctx, metadata.Pairs("early", "h"))
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	}},
	{"unary answers", rig.Unary, func(j *journal) rig.Handlers {
		return rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			watchContext(ctx, j)
			return m, nil
		}}
	}},
	{"unary panics not, fails", rig.Unary, func(j *journal) rig.Handlers {
		return rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
			watchContext(ctx, j)
			return nil, fmt.Errorf("failed")
		}}
	}},
}
