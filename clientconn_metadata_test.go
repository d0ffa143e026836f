// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
)

// mirror answers with the metadata "m-..." of a call as header and as trailer.
func mirror(ctx context.Context, in *text) (*text, error) {
	got, _ := metadata.FromIncomingContext(ctx)
	back := metadata.MD{}
	for k, vs := range got {
		if strings.HasPrefix(k, "m-") {
			back[k] = vs
		}
	}
	if err := SetHeader(ctx, back); err != nil {
		return nil, err
	}
	return in, SetTrailer(ctx, back)
}

// TestMetadataOfAllLengths has one connection carry keys whose values come and go in all
// lengths, short after long and long after short, to the server and back, while HPACK's tables
// fill and forget. Now and then the connection parks, and its tables with it.
func TestMetadataOfAllLengths(t *testing.T) {
	lengths := []int{0, 1, 31, 32, 126, 127, 128, 240, 253, 254, 255, 256, 257, 260, 300, 2000, 4095, 4096, 4097}
	parks := park.Supported() && envconfig.HTTPFramerReadBufferPooling
	cc := newTestClient(t, serve(t, &echo{unary: mirror}).addr)
	random := rand.New(rand.NewPCG(1, 1))
	pair := func() (k, v string) {
		k = fmt.Sprint("m-", random.IntN(4), strings.Repeat("k", 90*random.IntN(3)))
		if random.IntN(8) == 0 {
			k = "m-bin-bin"
		}
		return k, strings.Repeat(string(rune('a'+random.IntN(3))), lengths[random.IntN(len(lengths))])
	}
	for n := range 300 {
		sent := metadata.MD{}
		for range 1 + random.IntN(4) {
			k, v := pair()
			sent.Append(k, v)
		}
		for range 1 + random.IntN(4) { // from the second call on HPACK refers to what the first brought
			callMirror(t, cc, sent)
		}
		if n%100 == 99 && parks {
			waitUntil(t, "both ends are parked", func() bool { return park.ReadStats().Parked >= 2 })
		}
	}
}

func callMirror(t *testing.T, cc *ClientConn, sent metadata.MD) {
	t.Helper()
	var header, trailer metadata.MD
	ctx := metadata.NewOutgoingContext(testContext(t), sent)
	if err := call(ctx, cc, "x", Header(&header), Trailer(&trailer)); err != nil {
		t.Fatal(err)
	}
	for k, want := range sent {
		for _, got := range []metadata.MD{header, trailer} {
			if !slices.Equal(got[k], want) {
				t.Fatalf("%q: %d values came back, %d were sent, or others", k, len(got[k]), len(want))
			}
		}
	}
}

// TestMetadataKeepsNoBlock: values that a program keeps of calls with much metadata keep nothing
// of the rest, when both ends are closed.
func TestMetadataKeepsNoBlock(t *testing.T) {
	calls, pad := testutils.Rounds(50), 400<<10
	var kept []string
	before := heapInUse()
	func() {
		s := serve(t, &echo{unary: func(ctx context.Context, in *text) (*text, error) {
			got, _ := metadata.FromIncomingContext(ctx)
			for k, vs := range got {
				if strings.HasPrefix(k, "m-session") {
					kept = append(kept, k, vs[0], metadata.ValueFromIncomingContext(ctx, k)[0])
				}
			}
			return mirror(ctx, in)
		}})
		cc := newTestClient(t, s.addr)
		for i := range calls {
			var header, trailer metadata.MD
			ctx := metadata.AppendToOutgoingContext(testContext(t), fmt.Sprint("m-session", i), fmt.Sprintf("session-%06d", i),
				"m-session-bin", fmt.Sprint("binary", i), "m-pad", strings.Repeat("p", pad))
			if err := call(ctx, cc, "x", Header(&header), Trailer(&trailer)); err != nil {
				t.Fatal(err)
			}
			for _, md := range []metadata.MD{header, trailer} {
				kept = append(kept, md[fmt.Sprint("m-session", i)][0], md["m-session-bin"][0])
			}
		}
		cc.Close()
		s.Stop()
	}()
	if grew := heapInUse() - before; grew > int64(calls*pad/4) {
		t.Errorf("%d short values keep %d bytes", len(kept), grew)
	}
	runtime.KeepAlive(kept)
}

// heapInUse is what the heap has that is not garbage, once pools are empty and what has been closed has
// ended.
func heapInUse() int64 {
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	now := used()
	for same := 0; same < 4; same++ {
		before := now
		if now = used(); before-now > 4<<10 {
			same = 0
		}
	}
	return now
}
