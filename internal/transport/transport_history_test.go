// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/metadata"
)

// heldMetadata is metadata that somebody keeps, and what it has to be for as long.
type heldMetadata struct{ got, want metadata.MD }

// archive is all that was kept in a history.
type archive struct {
	mu   sync.Mutex
	held []heldMetadata
}

func (a *archive) keep(got, want metadata.MD) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = append(a.held, heldMetadata{got, want})
}

// TestMetadataHistories: connections that live long, on fewer decoders than there are connections,
// carry metadata of all lengths to servers and back, in streams that end at once and in streams that
// stay open while their connections park and others go on. What was read of them is the same in
// the end as it was sent.
func TestMetadataHistories(t *testing.T) {
	needsParking(t)
	const conns, rounds = 6, 8
	var kept archive
	s := startServer(t, "unix", ServerConfig{}, func(s *ServerStream) {
		got := s.IncomingHeader()
		back := metadata.MD{}
		for k, vs := range got {
			if strings.HasPrefix(k, "m-") {
				back[k] = vs
			}
		}
		_ = s.SendHeader(back)
		_ = s.SetTrailer(back)
		if len(got["m-stay"]) > 0 {
			_, _ = s.Recv() // until the client says its last
		}
		kept.keep(s.IncomingHeader(), got)
		_ = s.Finish(nil)
	})
	all := s.dialMany(conns)
	var open []func()
	for round := range rounds {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i, c := range all {
			rnd := rand.New(rand.NewPCG(uint64(round), uint64(i)))
			wg.Go(func() {
				for range 12 {
					end := historyCall(t, c, &kept, historyMetadata(rnd), rnd.IntN(4) == 0)
					mu.Lock()
					open = append(open, end)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if round%2 == 1 {
			waitParked(t, 2*conns)
		}
		rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for _, end := range open[len(open)/2:] {
			end()
		}
		open = open[:len(open)/2]
	}
	for _, end := range open {
		end()
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	for _, h := range kept.held {
		for k, want := range h.want {
			if !reflect.DeepEqual(h.got[k], want) {
				t.Errorf("%.40q is %.80q, and was sent as %.80q", k, h.got[k], want)
			}
		}
	}
	t.Log(len(kept.held), "lists of metadata")
}

// historyMetadata is a few fields of few names, in lengths around those at which anything changes.
func historyMetadata(rnd *rand.Rand) metadata.MD {
	lengths := []int{0, 1, 31, 32, 126, 127, 128, 252, 256, 260, 1000, 4064, 4097}
	md := metadata.MD{}
	for range rnd.IntN(4) {
		k := fmt.Sprint("m-", rnd.IntN(3), strings.Repeat("n", 130*rnd.IntN(2)))
		if rnd.IntN(6) == 0 {
			k = "m-bin"
		}
		md.Append(k, strings.Repeat(string(rune('a'+rnd.IntN(2))), lengths[rnd.IntN(len(lengths))]))
	}
	return md
}

// historyCall makes a call with md, and keeps what came back. A call that stays is ended by what it
// returns.
func historyCall(t *testing.T, c *Client, kept *archive, md metadata.MD, stays bool) (end func()) {
	sent := md.Copy()
	if stays {
		sent.Set("m-stay", "1")
	}
	ctx := metadata.NewOutgoingContext(context.Background(), sent)
	st, err := c.NewStream(ctx, &Call{Method: "/test.Echo/Any", MaxRecvMsgSize: 1}, nil, !stays)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	kept.keep(st.Header(), md)
	end = func() {
		if err := st.CloseSend(); err != nil && stays {
			t.Error(err)
		}
		st.AwaitEnd()
		if err := st.Status().Err(); err != nil {
			t.Error(err)
		}
		kept.keep(st.Trailer(), md)
	}
	if !stays {
		st.AwaitEnd()
	}
	return end
}
