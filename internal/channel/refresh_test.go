// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"math"
	"testing"

	"google.golang.org/grpc/resolver"
)

type unasked struct{ resolver.Resolver }

func (unasked) Close() {}

// TestRefreshedOften: the shortest interval is that at which a resolver may be asked.
func TestRefreshedOften(t *testing.T) {
	r := &resolverWrapper{ch: &Channel{opts: &Options{ResolveEvery: 30}}}
	f := r.refreshed(unasked{}).(*refreshing)
	defer f.Close()
	if p := f.pause(); p < resolveInterval/2 {
		t.Errorf("a pause of %v", p)
	}
}

// TestRefreshedNever: the longest interval stays one.
func TestRefreshedNever(t *testing.T) {
	r := &resolverWrapper{ch: &Channel{opts: &Options{ResolveEvery: math.MaxInt64}}}
	f := r.refreshed(unasked{}).(*refreshing)
	defer f.Close()
	for range 100 {
		if p := f.pause(); p < math.MaxInt64/3 {
			t.Fatalf("a pause of %v", p)
		}
	}
}
