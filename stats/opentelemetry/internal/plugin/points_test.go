// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// told is an Exchange that labels with what the other end tells.
type told struct{}

func (told) Metadata() []string        { return nil }
func (told) Wants(string) bool         { return true }
func (told) Key(metadata.MD) string    { return "" }
func (told) Labels(key string) []Label { return []Label{{Name: "end", Value: key[:min(len(key), 1)]}} }

// TestPointsKeepLittle: the labels of peers are cached for a bounded number of them, and not where what
// the peer tells is long: it would stay for ever.
func TestPointsKeepLittle(t *testing.T) {
	p := &points{labels: told{}}
	kept := func() (n, bytes int) {
		m := p.more.kept.Load()
		if m == nil {
			return 0, 0
		}
		for k := range *m {
			bytes += len(k.otherEnd)
		}
		return len(*m), bytes
	}
	for i := range 50 {
		if p.find(pointKey{kind: ofEnd, otherEnd: fmt.Sprint(i, strings.Repeat("x", maxCachedKey))}) == nil {
			t.Fatal("no labels")
		}
	}
	if n, bytes := kept(); n > 0 {
		t.Errorf("%d long keys are kept, of %d bytes", n, bytes)
	}
	for i := range 2 * cacheSize {
		p.find(pointKey{kind: ofEnd, otherEnd: fmt.Sprint(i)})
	}
	if n, bytes := kept(); n != cacheSize || bytes > cacheSize*maxCachedKey {
		t.Errorf("%d keys are kept, of %d bytes, want %d", n, bytes, cacheSize)
	}
	if a, b := p.find(pointKey{kind: ofEnd, otherEnd: "1"}), p.find(pointKey{kind: ofEnd, otherEnd: "1"}); a != b {
		t.Error("the labels of a peer are made twice")
	}
}

// TestPointsOfUnknownCodes: a peer that invents status codes makes no series of its own for each.
func TestPointsOfUnknownCodes(t *testing.T) {
	for name, p := range map[string]*points{"plain": {}, "labelled": {labels: told{}}} {
		want := p.find(pointKey{kind: ofEnd, status: codes.Unknown})
		for _, c := range []codes.Code{codes.Unauthenticated + 1, 12345, math.MaxInt32 + 1, math.MaxUint32} {
			if p.find(pointKey{kind: ofEnd, status: c}) != want {
				t.Errorf("%s: code %d has labels other than UNKNOWN's", name, uint32(c))
			}
		}
		if p.find(pointKey{kind: ofEnd, status: codes.Unauthenticated}) == want {
			t.Errorf("%s: UNAUTHENTICATED has the labels of UNKNOWN", name)
		}
	}
}
