// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// meteredBody is a request's body, of which a read brings at most some bytes.
type meteredBody struct {
	rest  string
	most  func() int
	reads int
}

func (m *meteredBody) Read(p []byte) (int, error) {
	m.reads++
	if m.rest == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), m.most())], m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (*meteredBody) Close() error { return nil }

func newHandlerBody(t *testing.T, in io.ReadCloser, limit int) *handlerBody {
	b := &handlerBody{ctx: t.Context(), handed: new(atomic.Pointer[handedResponse])}
	b.init(in, &ServerConfig{Tuning: Tuning{BufferPool: mem.DefaultBufferPool()}, MaxRecvMsgSize: limit})
	return b
}

// TestHandlerBody: messages come as they were sent, however they arrive, and whether or not they come
// together; what is wrong comes behind those that were in order.
func TestHandlerBody(t *testing.T) {
	rnd := rand.New(rand.NewPCG(36, 4))
	for range 300 {
		var wire, want []string
		for range rnd.IntN(200) {
			n := []int{0, 0, 1, 1, 1, 104, 105, 600, 5000}[rnd.IntN(9)]
			body := strings.Repeat(string(rune('a'+rnd.IntN(26))), n)
			want = append(want, body)
			wire = append(wire, string(messagePrefix(uint32(n)))+body)
		}
		tooLong := rnd.IntN(2) == 0
		if tooLong {
			wire = append(wire, string(messagePrefix(10_001)))
		}
		most := 1 + rnd.IntN(4)*rnd.IntN(1000)
		b := newHandlerBody(t, &meteredBody{rest: strings.Join(wire, ""), most: func() int { return most }}, 10_000)
		for i, w := range want {
			m, err := b.recv()
			if err != nil || string(m.Data.ReadOnlyData()) != w {
				t.Fatalf("message %d of %d, %d bytes: %v", i, len(want), len(w), err)
			}
			m.Data.Free()
		}
		if _, err := b.recv(); errors.Is(err, io.EOF) == tooLong {
			t.Fatalf("at last %v", err)
		}
	}
}

// brokenBody returns an error together with the last bytes, and not again.
type brokenBody struct {
	meteredBody
	why error
}

func (b *brokenBody) Read(p []byte) (int, error) {
	n, err := b.meteredBody.Read(p)
	if b.rest == "" && err == nil {
		err, b.why = b.why, nil
	}
	return n, err
}

// TestHandlerBodyBreaks: an error that comes with the last message is not taken for the end of the request.
func TestHandlerBodyBreaks(t *testing.T) {
	for _, size := range []int{0, 104, 5000} {
		for _, n := range []int{1, 2 * manySmall} { // the last of many small ones come together
			wire := strings.Repeat(string(messagePrefix(uint32(size)))+strings.Repeat("x", size), n)
			b := newHandlerBody(t, &brokenBody{meteredBody{rest: wire, most: func() int { return 1 << 20 }}, errors.New("broken")}, 10_000)
			for range n {
				m, err := b.recv()
				if err != nil {
					t.Fatal(err)
				}
				m.Data.Free()
			}
			if _, err := b.recv(); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%d messages of %d bytes, then %v", n, size, err)
			}
		}
	}
}

// TestHandlerBodyBreaksLikeEOF: nor is one that wraps io.EOF, as that of a middleware.
func TestHandlerBodyBreaksLikeEOF(t *testing.T) {
	b := newHandlerBody(t, io.NopCloser(iotest.ErrReader(fmt.Errorf("broken: %w", io.EOF))), 10_000)
	if _, err := b.recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("%v, want Unavailable", err)
	}
}

// TestHandlerBodyReadsLittle: many small messages take few reads, and few wake-ups.
func TestHandlerBodyReadsLittle(t *testing.T) {
	const n = 5000
	in := &meteredBody{rest: strings.Repeat(string(messagePrefix(0)), n), most: func() int { return 1 << 20 }}
	b := newHandlerBody(t, in, 100)
	for range n {
		if _, err := b.recv(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if most := 5*n/chunkSize + 2*manySmall + 10; in.reads > most {
		t.Errorf("%d reads for %d messages, want %d at most", in.reads, n, most)
	}
}

// TestHandlerBodyEnds: what came with the last message is not handed out once the call is over.
func TestHandlerBodyEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	in := &meteredBody{rest: strings.Repeat(string(messagePrefix(1))+"x", 1000), most: func() int { return 1 << 20 }}
	b := newHandlerBody(t, in, 100)
	b.ctx = ctx
	for range 50 {
		if _, err := b.recv(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for n := 0; ; n++ {
		if _, err := b.recv(); err != nil {
			return
		}
		if n > 10 {
			t.Fatal("messages come although the call is over")
		}
	}
}

// TestHandlerBodyEndsInOrder: once the call is over, what comes behind the small messages that came
// together is not handed out in their place.
func TestHandlerBodyEndsInOrder(t *testing.T) {
	for _, behind := range []string{"", string(messagePrefix(1000)) + strings.Repeat("y", 1000)} {
		for range 50 {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wire strings.Builder
				for i := range 3 * manySmall {
					wire.WriteString(string(messagePrefix(1)) + string(rune('a'+i)))
				}
				wire.WriteString(behind)
				b := newHandlerBody(t, &meteredBody{rest: wire.String(), most: func() int { return 1 << 20 }}, 10_000)
				b.ctx = ctx
				for !b.follows() {
					if _, err := b.recv(); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait() // what is behind the run has been read
				if len(b.messages) != 1 {
					t.Fatal("nothing was read ahead")
				}
				cancel()
				defer b.release()
				for range 2 {
					if _, err := b.recv(); status.Code(err) != codes.Canceled {
						t.Fatalf("%v, want the context's status", err)
					}
				}
			})
		}
	}
}

// endingBody is a body whose reads end the call.
type endingBody struct {
	meteredBody
	end context.CancelFunc
}

func (b *endingBody) Read(p []byte) (int, error) {
	b.end()
	return b.meteredBody.Read(p)
}

// TestHandlerBodyDropsTheRest: the goroutine that reads stops behind a message that it has dropped.
func TestHandlerBodyDropsTheRest(t *testing.T) {
	for range 50 { // the goroutine has a choice
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in := &endingBody{meteredBody{rest: strings.Repeat(string(messagePrefix(0)), 100), most: func() int { return 1 << 20 }}, cancel}
			b := newHandlerBody(t, in, 100)
			b.ctx = ctx
			b.begin()
			synctest.Wait()
			b.release()
			if in.reads != 1 {
				t.Fatalf("%d reads, although the first ended the call", in.reads)
			}
		})
	}
}

// closedBody is a body whose Read returns once may is closed, which Close does if it is passed on.
type closedBody struct {
	may    chan struct{}
	passes bool
	linger time.Duration // how long Read goes on after that
}

func (b closedBody) Read([]byte) (int, error) {
	<-b.may
	time.Sleep(b.linger)
	return 0, io.ErrClosedPipe
}

func (b closedBody) Close() error {
	if b.passes {
		close(b.may)
	}
	return nil
}

// TestHandlerBodyIsNotReadAfterRelease: release waits for the read that is under way, but not for ever if Close has no
// effect on it.
func TestHandlerBodyIsNotReadAfterRelease(t *testing.T) {
	for _, in := range []closedBody{{passes: true}, {passes: true, linger: closePatience / 2}, {}} {
		t.Run(fmt.Sprintf("passes Close on: %v, reads for %v more", in.passes, in.linger), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in.may = make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				b := newHandlerBody(t, in, 100)
				b.ctx = ctx
				b.begin()
				synctest.Wait()
				cancel()
				released := time.Now()
				b.release()
				took, want := time.Since(released), in.linger
				if !in.passes {
					want = closePatience
					close(in.may)
				}
				if took != want {
					t.Errorf("it took %v, not %v", took, want)
				}
			})
		})
	}
}

// TestHandlerBodyBeginsNoReadAfterRelease: a goroutine of the program's that receives when its handler has returned
// does not read the body.
func TestHandlerBodyBeginsNoReadAfterRelease(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in := &meteredBody{most: func() int { return 1 }}
	b := newHandlerBody(t, in, 100)
	b.ctx = ctx
	cancel()
	b.release()
	if _, err := b.recv(); status.Code(err) != codes.Canceled {
		t.Errorf("%v, want the context's status", err)
	}
	if b.messages != nil {
		t.Error("a read has begun")
	}
}
