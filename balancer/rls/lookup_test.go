// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/balancer/lbtest"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/internal/testutils"
)

// quiet builds policies that do nothing.
type quiet struct{ balancer.Balancer }

func (quiet) Name() string { return "rls_test_quiet" }

func (quiet) Build(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer { return quiet{} }

func (quiet) UpdateClientConnState(balancer.ClientConnState) error { return nil }

func (quiet) Close() {}

// pauses are back-offs of which each is a little longer than the one before.
type pauses struct{ last time.Duration }

func (p *pauses) Backoff(int) time.Duration {
	p.last += 370 * time.Microsecond
	return p.last
}

// TestBackOffsThatEndTogether: RPCs that wait pick again soon after each back-off, not once for each of very many.
func TestBackOffsThatEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLB(t, quiet{})
		p := &pauses{time.Second}
		b.backoff = p
		const keys = 1000
		b.mu.Lock()
		for i := range keys {
			b.failed(cacheKey{path: fmt.Sprint(i)}, errThrottled, time.Now())
		}
		b.mu.Unlock()
		pickers := func() int {
			synctest.Wait()
			_, n := b.cc.(*lbtest.ClientConn).State()
			return n
		}
		time.Sleep(p.last)
		before := pickers()
		time.Sleep(wakeDelay)
		if n := pickers() - before; n != 1 {
			t.Errorf("%d pickers after the last back-off", n)
		}
		if most := int((p.last-time.Second)/wakeDelay) + 1; before == 0 || before > most {
			t.Errorf("%d pickers for %d keys, want at most %d", before, keys, most)
		}
	})
}

// TestBoundsAreLogged: where a bound on targets is reached the log says so, once for each balancer.
func TestBoundsAreLogged(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	var log bytes.Buffer
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, &log, io.Discard))
	for _, tt := range []struct {
		name              string
		answers, eachWith int
		want              string // in the only line; "" for none
	}{
		{"few", 3, maxListed, ""},
		{"long answers", 3, maxListed + 1, "names 1001 targets"},
		{"many answers", maxTargets/maxListed + 3, maxListed, "more than 5000 targets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log.Reset()
			b := newLB(t, quiet{})
			for i := range tt.answers {
				out := &lookuppb.RouteLookupResponse{}
				for j := range tt.eachWith {
					out.Targets = append(out.Targets, fmt.Sprint(i, ".", j))
				}
				b.answered(nil, cacheKey{path: fmt.Sprint(i)}, out, nil)
			}
			text := log.String()
			if lines := strings.Count(text, "\n"); (tt.want == "") != (lines == 0) || lines > 1 || !strings.Contains(text, tt.want) {
				t.Errorf("logged %q, want one line with %q", text, tt.want)
			}
		})
	}
}
