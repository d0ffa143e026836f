// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// TestMisledWaitersAreCounted: a server that gives places and takes them back before the calls that wait have
// them pays for each call that was woken. One that gives them for good does not.
func TestMisledWaitersAreCounted(t *testing.T) {
	const waiting = 1000
	for _, takesBack := range []bool{false, true} {
		c := started(t, Client)
		var in Intake
		in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
		limit := func(n uint32) error {
			p := frame.AppendSettings(nil, frame.Setting{ID: frame.MaxConcurrentStreams, Value: n})
			h := frame.ParseHeader(p)
			_, _, err := c.OnSettings(&in, h, p[frame.HeaderLen:])
			drain(t, c)
			if err == nil {
				err = in.Useless()
			}
			return err
		}
		if err := limit(0); err != nil {
			t.Fatal(err)
		}
		frames, woken := 0, 0
		for err := error(nil); err == nil && frames < 1000; frames++ {
			waiters := make([]*PlaceWaiter, waiting)
			for i := range waiters {
				waiters[i] = c.AwaitPlace(nobody{})
			}
			err = limit(waiting)
			if takesBack && err == nil {
				err = limit(0)
			}
			for range waiters {
				if c.ClaimPlace() == takesBack && err == nil {
					t.Fatalf("a place is there: %t", !takesBack)
				}
				woken++
			}
			if !takesBack && err == nil {
				err = limit(0)
			}
		}
		if most := FloodLimit + 2*waiting; takesBack && woken > most {
			t.Errorf("%d waiters were woken for nothing in %d rounds, at most %d", woken, frames, most)
		}
		if !takesBack && frames < 1000 {
			t.Errorf("a connection ends after %d rounds of %d places each", frames, waiting)
		}
	}
}

// nobody is a Waiter whose wakes nobody looks at.
type nobody struct{}

// Wake implements Waiter.
func (nobody) Wake() {}

// Calls that are woken because no stream may be opened any more were not misled.
func TestWaitersOfALeavingConnection(t *testing.T) {
	c := started(t, Client)
	c.streams.setMaxLocal(0)
	c.AwaitPlace(nobody{})
	c.EndAfterStreams()
	drain(t, c)
	if c.ClaimPlace() || c.streams.misled != 0 {
		t.Errorf("%d were misled", c.streams.misled)
	}
}

// TestInitialWindowGivesTurns: a new initial window that opens the windows of streams lets their DATA go, though no
// WINDOW_UPDATE follows and nothing more is sent on them.
func TestInitialWindowGivesTurns(t *testing.T) {
	c := started(t, Client)
	var in Intake
	in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
	set := func(initial uint32) {
		t.Helper()
		p := frame.AppendSettings(nil, frame.Setting{ID: frame.InitialWindowSize, Value: initial})
		h := frame.ParseHeader(p)
		if _, _, err := c.OnSettings(&in, h, p[frame.HeaderLen:]); err != nil {
			t.Fatal(err)
		}
		drain(t, c)
	}
	set(0)
	const size = 5 + 10 // with the prefix
	var streams [3]Stream
	want := func(what string, unsent int) {
		t.Helper()
		for i := range streams {
			if n := streams[i].Unsent(); n != unsent {
				t.Errorf("%s: %d bytes wait on stream %d, want %d", what, n, streams[i].Identifier(), unsent)
			}
		}
	}
	for i := range streams {
		s := &streams[i]
		s.Init(deaf{}, 0)
		f := Frames{Headers: fields{":method", "POST"}, HasData: true, Data: OnePiece(mem.SliceBuffer("0123456789")), End: true}
		if opened, err := c.OpenStream(s, &f, 1<<20); !opened || err != nil {
			t.Fatalf("opened %t, %v", opened, err)
		}
	}
	drain(t, c)
	want("shut", size)
	set(6)
	want("opened a little", size-6)
	set(2)
	set(6)
	want("below zero, and back to zero", size-6)
	set(1 << 20)
	want("opened wide", 0)
	if c.HasPending() || c.State().Queued != 0 {
		t.Errorf("all is sent, and %d bytes wait", c.State().Queued)
	}
}

// TestLastSettingStands: of several values of a setting in one frame the last one stands.
func TestLastSettingStands(t *testing.T) {
	c := started(t, Client)
	var in Intake
	in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
	p := frame.AppendSettings(nil,
		frame.Setting{ID: frame.InitialWindowSize, Value: 1<<31 - 1}, frame.Setting{ID: frame.MaxConcurrentStreams, Value: 0},
		frame.Setting{ID: frame.MaxConcurrentStreams, Value: 7}, frame.Setting{ID: frame.InitialWindowSize, Value: 3})
	h := frame.ParseHeader(p)
	if _, _, err := c.OnSettings(&in, h, p[frame.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	drain(t, c)
	if _, out := c.windows.Stream(); out.Window() != 3 || c.streams.maxLocal != 7 {
		t.Errorf("initial window %d, %d streams", out.Window(), c.streams.maxLocal)
	}
}
