// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"runtime"
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// foreignRole counts the blocks of which another connection left the memo.
type foreignRole struct {
	*lateRole
	foreign, own, none int
}

func (r *foreignRole) Accept(b *protocol.HeaderBlock, end bool) (*Stream, error) {
	switch {
	case b.Foreign():
		r.foreign++
	case b.Memo() != nil:
		r.own++
	default:
		r.none++
	}
	held := protocol.NewShared(1, nil)
	b.SetMemo(r, &held)
	if b.Foreign() {
		r.none = -1 << 30
	}
	return r.lateRole.Accept(b, end)
}

// Connections that were parked between their calls have the memos of those before them.
func TestMemosOutlastParking(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	// Which memory a connection gets when input comes depends on the processor that it is read on.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cfg := lateConfig()
	var roles []*foreignRole
	var pairs []*latePair
	for range 2 {
		p := newLatePairOf(t, cfg, func(r *lateRole) Handler {
			roles = append(roles, &foreignRole{lateRole: r})
			return roles[len(roles)-1]
		})
		pairs = append(pairs, p)
	}
	const rounds = 20
	for range rounds {
		for _, p := range pairs {
			p.call(t, false)
			p.parked(t)
		}
	}
	foreign := 0
	for i, r := range roles {
		if r.none < 0 || r.foreign+r.own+r.none != rounds {
			t.Errorf("connection %d: %d foreign, %d own, %d without, of %d", i, r.foreign, r.own, r.none, rounds)
		}
		foreign += r.foreign
	}
	if foreign == 0 {
		t.Error("no connection had another's memo")
	}
}
