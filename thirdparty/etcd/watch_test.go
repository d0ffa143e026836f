// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

func TestWatch(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	w := cli.Watch(watching, "w/", clientv3.WithPrefix())
	go func() {
		for i := range 100 {
			cli.Put(ctx, fmt.Sprintf("w/%d", i), "x")
			cli.Put(ctx, fmt.Sprintf("other/%d", i), "x")
		}
		cli.Delete(ctx, "w/", clientv3.WithPrefix())
	}()
	var got []*clientv3.Event
	for len(got) < 200 {
		got = append(got, nextEvents(ctx, t, w)...)
	}
	for i, e := range got[:100] {
		if want := fmt.Sprintf("put w/%d=x", i); show(e) != want {
			t.Fatalf("event %d: %s, want %s", i, show(e), want)
		}
	}
	for i, e := range got[100:] {
		if e.Type != clientv3.EventTypeDelete {
			t.Fatalf("event %d: %s, want a deletion", 100+i, show(e))
		}
	}

	cancel()
	for r := range w {
		if err := r.Err(); err != nil && !r.Canceled {
			t.Errorf("after cancelling: %v", err)
		}
	}
}

// TestWatchThePast begins at revisions that are history, and at one that is compacted.
func TestWatchThePast(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	var last int64
	for i := range 10 {
		r, err := cli.Put(ctx, "a", strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		last = r.Header.Revision
	}
	w := cli.Watch(ctx, "a", clientv3.WithRev(last-4), clientv3.WithPrevKV())
	var got []*clientv3.Event
	for len(got) < 5 {
		got = append(got, nextEvents(ctx, t, w)...)
	}
	for i, e := range got {
		if now, before := strconv.Itoa(i+5), strconv.Itoa(i+4); string(e.Kv.Value) != now || string(e.PrevKv.Value) != before {
			t.Errorf("event %d: %s, before %s", i, show(e), e.PrevKv.Value)
		}
	}

	if _, err := cli.Compact(ctx, last); err != nil {
		t.Fatal(err)
	}
	r := <-cli.Watch(ctx, "a", clientv3.WithRev(1))
	if !errors.Is(r.Err(), rpctypes.ErrCompacted) || r.CompactRevision != last {
		t.Errorf("watch from a compacted revision: %v at %d, want %v at %d", r.Err(), r.CompactRevision, rpctypes.ErrCompacted, last)
	}
}

const manyWatches = 1000

// TestManyWatches has all watches on one stream, as the client does by itself.
func TestManyWatches(t *testing.T) {
	testManyWatches(t, func(ctx context.Context, _ int) context.Context { return ctx })
}

// TestManyWatchStreams has every watch on a stream of its own: watches with unlike metadata
// can't share one.
func TestManyWatchStreams(t *testing.T) {
	testManyWatches(t, func(ctx context.Context, n int) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "watch", strconv.Itoa(n))
	})
}

func testManyWatches(t *testing.T, contextOf func(context.Context, int) context.Context) {
	cli, ctx := single(t), testContext(t)
	var watches [manyWatches]clientv3.WatchChan
	for n := range watches {
		watches[n] = cli.Watch(contextOf(ctx, n), fmt.Sprintf("many/%04d", n), clientv3.WithCreatedNotify())
		if r := <-watches[n]; !r.Created {
			t.Fatalf("watch %d: %+v, %v", n, r, r.Err())
		}
	}
	for round := range 2 {
		go func() {
			for n := range watches {
				if _, err := cli.Put(ctx, fmt.Sprintf("many/%04d", n), strconv.Itoa(round)); err != nil {
					t.Errorf("put %d: %v", n, err)
					return
				}
			}
		}()
		for n, w := range watches {
			got := nextEvents(ctx, t, w)
			if want := fmt.Sprintf("put many/%04d=%d", n, round); len(got) != 1 || show(got[0]) != want {
				t.Fatalf("watch %d has %d events, the first %s; want %s", n, len(got), show(got[0]), want)
			}
		}
	}
}
