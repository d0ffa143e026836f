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

// TestPaddingWithinMessage: what padding uses up of the window that a receiver has asked for is given back, although
// the rest of the window would be given back only after the message.
func TestPaddingWithinMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 * minWindow
		got := make(chan int, 1)
		s := startServer(t, "memory", ServerConfig{Tuning: smallWindow, Policy: oftenPings}, func(s *ServerStream) {
			if m, err := s.Recv(); err == nil {
				got <- m.Len
				m.Data.Free()
			}
			_ = s.Finish(nil)
		})
		p := &attacker{rawPeer: rawClient(t, s)}
		p.headers(1, block(requestFields...), false)
		prefix := grpcwire.Prefix(false, size)
		left := append(prefix[:], make([]byte, size)...)
		window, padded := minWindow, false
		for len(left) > 0 {
			n := min(window, len(left), 8<<10)
			if n == 0 {
				t.Fatalf("the window is 0, and %d bytes are left", len(left))
			}
			p.write(dataFrame(1, n, left[:n]))
			left, window = left[n:], window-n
			synctest.Wait()
			for half := len(left) <= size/2 && !padded; half && window > 0; padded = true {
				pad := min(window, 256)
				p.write(frame.AppendHeader(nil, frame.Header{Type: frame.Data, Flags: frame.FlagPadded, StreamID: 1, Length: uint32(pad)}))
				p.write(append([]byte{byte(pad - 1)}, make([]byte, pad-1)...))
				window -= pad
			}
			window += p.granted(1)
		}
		if n := <-got; n != size {
			t.Errorf("received %d bytes", n)
		}
	})
}

// granted returns how far the server has widened the window of stream id since it was last asked.
func (a *attacker) granted(id uint32) (n int) {
	time.Sleep(time.Millisecond) // of the bubble's clock: two PINGs at one time are too many
	a.pings++
	a.write(frame.AppendPing(nil, false, [8]byte{a.pings}))
	for {
		h, b, ok := a.read()
		switch {
		case !ok:
			a.t.Fatal("the connection ended")
		case h.Type == frame.GoAway:
			a.t.Fatalf("GOAWAY %q", b)
		case h.Type == frame.WindowUpdate && h.StreamID == id:
			inc, _ := frame.ParseWindowUpdate(h, b)
			n += int(inc)
		case h.Type == frame.Ping && h.Flags.Has(frame.FlagAck):
			return n
		}
	}
}
