// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// TestWindowEnds has messages that end around the end of a window which nothing widens of
// its own accord, so that all but a few bytes are there before anyone asks for them.
func TestWindowEnds(t *testing.T) {
	for name, test := range map[string]func(*testing.T, []int){
		"server receives":     serverReceives,
		"client receives":     clientReceives,
		"client awaits end":   clientAwaitsEnd,
		"client awaits error": clientAwaitsSecond,
	} {
		t.Run(name, func(t *testing.T) {
			for d := -6; d <= 6; d++ {
				for _, second := range []int{0, 1, 2 * minWindow} {
					sizes := []int{minWindow + d - grpcwire.PrefixLen, second}
					t.Run(fmt.Sprint(d, second), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { test(t, sizes) })
					})
				}
			}
		})
	}
}

var smallWindow = Tuning{InitialWindow: minWindow, InitialConnWindow: 16 * minWindow, StaticWindow: true}

// windowCall begins a call whose ends have small windows. The fake clock ends it if it
// stalls.
func windowCall(t *testing.T, handle func(*ServerStream)) *ClientStream {
	s := startServer(t, "memory", ServerConfig{Tuning: smallWindow}, handle)
	c, _ := s.dial(&ClientConfig{Tuning: smallWindow})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	st, err := c.NewStream(ctx, &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: 1 << 20}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func receive(t *testing.T, recv func() (grpcwire.Message, error), sizes []int) {
	for i, size := range sizes {
		m, err := recv()
		if err != nil {
			t.Errorf("message %d of %v: %v", i, sizes, err)
			return
		}
		if m.Len != size {
			t.Errorf("message %d has %d bytes, want %d", i, m.Len, size)
		}
		m.Data.Free()
	}
}

func sendAll(sizes []int) func(*ServerStream) {
	return func(s *ServerStream) {
		for _, size := range sizes {
			_ = s.Send(payload(make([]byte, size)))
		}
		_ = s.Finish(nil)
	}
}

func serverReceives(t *testing.T, sizes []int) {
	gate, done := make(chan struct{}), make(chan struct{})
	st := windowCall(t, func(s *ServerStream) {
		defer close(done)
		<-gate
		receive(t, s.Recv, sizes)
		_ = s.Finish(nil)
	})
	for _, size := range sizes {
		if err := st.Send(payload(make([]byte, size)), false); err != nil {
			t.Error(err)
		}
	}
	synctest.Wait()
	close(gate)
	<-done
}

func clientReceives(t *testing.T, sizes []int) {
	st := windowCall(t, sendAll(sizes))
	synctest.Wait()
	receive(t, st.Recv, sizes)
}

func clientAwaitsEnd(t *testing.T, sizes []int) {
	st := windowCall(t, sendAll(sizes[:1]))
	synctest.Wait()
	st.AwaitEnd()
	receive(t, st.Recv, sizes[:1])
	if err := st.Status().Err(); err != nil {
		t.Error(err)
	}
}

// clientAwaitsSecond has a reply too many, which is to end the wait for the end.
func clientAwaitsSecond(t *testing.T, sizes []int) {
	for _, early := range []bool{false, true} {
		st := windowCall(t, sendAll(sizes))
		if early {
			synctest.Wait()
		}
		st.AwaitEnd()
		receive(t, st.Recv, sizes)
	}
}

// TestPadding has a message that is larger than the window come in frames with padding,
// which uses up as much again of what was granted for the message.
func TestPadding(t *testing.T) {
	const size, pad, data = 4 * minWindow, 200, 200
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		s := startServer(t, "memory", ServerConfig{Tuning: smallWindow}, func(s *ServerStream) {
			defer close(done)
			receive(t, s.Recv, []int{size})
			_ = s.Finish(nil)
		})
		p := rawClient(t, s)
		_ = p.nc.SetDeadline(time.Now().Add(time.Minute))
		p.write(headers(false, requestFields))
		prefix := grpcwire.Prefix(false, size)
		p.write(append(frame.AppendDataHeader(nil, 1, len(prefix), false), prefix[:]...))
		stream, conn := minWindow-len(prefix), flow.DefaultWindow-len(prefix)
		for left := size; left > 0; {
			n := min(left, data, stream, conn)
			if n == 0 {
				h, b, ok := p.read()
				if !ok {
					t.Errorf("stalled with %d of %d bytes to send", left, size)
					p.nc.Close()
					break
				}
				inc, _ := frame.ParseWindowUpdate(h, b)
				switch {
				case h.Type != frame.WindowUpdate:
				case h.StreamID == 0:
					conn += int(inc)
				default:
					stream += int(inc)
				}
				continue
			}
			h := frame.Header{Length: uint32(n), Type: frame.Data, StreamID: 1}
			if more := 1 + pad; n+more <= min(stream, conn) {
				h.Length, h.Flags = uint32(n+more), frame.FlagPadded
			}
			f := frame.AppendHeader(nil, h)
			if h.Flags != 0 {
				f = append(f, pad)
			}
			f = append(f, make([]byte, int(h.Length)-(len(f)-frame.HeaderLen))...)
			p.write(f)
			stream, conn, left = stream-int(h.Length), conn-int(h.Length), left-n
		}
		<-done
	})
}
