// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/binary"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// TestLateIsPaidByStreams: frames for streams that are over are paid for by streams that were opened, not
// by ids, of which a peer passes over as many as it likes.
func TestLateIsPaidByStreams(t *testing.T) {
	c := started(t, Server)
	var in Intake
	in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
	late, id := 0, uint32(1)
	for range 10 {
		if _, verdict, err := c.OnBlock(&in, Block{ID: id}); verdict != blockOpens || err != nil {
			t.Fatalf("stream %d: verdict %d, %v", id, verdict, err)
		}
		c.Accepted(&in, &Stream{}, Block{ID: id})
		in.Useful()
		_, _, err := c.OnReset(&in, frame.Header{Type: frame.RSTStream, Length: 4, StreamID: id}, make([]byte, 4))
		for ; err == nil && late < 30*FloodLimit; late++ {
			_, _, err = c.OnReset(&in, frame.Header{Type: frame.RSTStream, Length: 4, StreamID: id}, make([]byte, 4))
		}
		id += 1 << 20
	}
	if most := FloodLimit + 10*3*usefulEarns; late > most {
		t.Errorf("%d frames for 10 streams that are over, at most %d", late, most)
	}
}

// TestRefusedPayForOne: a stream that is refused pays for one frame behind it, such as the end of its request,
// and not for more: a peer can have any number refused. The refusal itself counts as well, unless the connection
// refuses all streams because it holds too much.
func TestRefusedPayForOne(t *testing.T) {
	const endless = 3 * FloodLimit
	for _, tt := range []struct {
		holds       int // bytes that the connection holds
		each        int // frames behind each refused stream
		least, most int // so many streams until the connection ends
	}{
		{each: 0, least: FloodLimit, most: FloodLimit + 1},
		{each: 1, least: FloodLimit - 1, most: FloodLimit + 1},
		{each: 20, least: FloodLimit / 20, most: FloodLimit/20 + 1},
		{each: 1000, least: FloodLimit / 1000, most: FloodLimit/1000 + 1},
		{holds: 3 << 20, each: 0, least: endless, most: endless},
		{holds: 3 << 20, each: 1, least: endless, most: endless},
		{holds: 3 << 20, each: 3, least: FloodLimit / 2, most: FloodLimit/2 + 100},
		{holds: 3 << 20, each: 1000, least: FloodLimit / 1000, most: FloodLimit/1000 + 1},
	} {
		c := started(t, Server)
		c.out.cfg.MaxHeld = 2 << 20
		c.account.charge(tt.holds)
		var in Intake
		in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
		refuse := func(id uint32) error {
			b := Block{ID: id}
			if tt.holds == 0 {
				b.Void = frame.StreamError(id, frame.RefusedStream, "no")
			}
			_, verdict, err := c.OnBlock(&in, b)
			if verdict != blockOpens || !IsStreamError(err) {
				t.Fatalf("stream %d: verdict %d, %v", id, verdict, err)
			}
			_, _, err = c.ResetByRule(&in, FaultOf(err))
			c.Refused(&in)
			return err
		}
		streams := 0
		for err := error(nil); err == nil && streams < endless; streams++ {
			id := uint32(2*streams + 1)
			err = refuse(id)
			for i := 0; err == nil && i < tt.each; i++ {
				_, _, err = c.OnReset(&in, frame.Header{Type: frame.RSTStream, Length: 4, StreamID: id}, make([]byte, 4))
			}
			drain(t, c)
		}
		if streams < tt.least || streams > tt.most {
			t.Errorf("%d frames each, %d bytes held: it ends with %d streams, want %d to %d", tt.each, tt.holds, streams, tt.least, tt.most)
		}
	}
}

// TestLateWindowUpdates: a peer that gives each frame of a message back, and gets to know late that we have
// ended the stream, goes on.
func TestLateWindowUpdates(t *testing.T) {
	const size, each = 1 << 20, 4096
	piece := mem.SliceBuffer(make([]byte, size))
	for name, tt := range map[string]struct {
		side Side
		end  func(t *testing.T, c *Conn, in *Intake, s *Stream)
	}{
		"server, reply": {Server, func(t *testing.T, c *Conn, in *Intake, s *Stream) {
			id := c.streams.lastPeer + 1 | 1
			if _, verdict, err := c.OnBlock(in, Block{ID: id, End: true}); verdict != blockOpens || err != nil {
				t.Fatalf("stream %d: verdict %d, %v", id, verdict, err)
			}
			c.Accepted(in, s, Block{ID: id, End: true})
			_ = s.out.Add(size)
			if err := c.Queue(s, &Frames{Headers: fields{":status", "200"}, HasData: true, Data: OnePiece(piece), Trailers: fields{"x", "y"}}, size); err != nil {
				t.Fatal(err)
			}
			drain(t, c)
		}},
		"client, cancelled upload": {Client, func(t *testing.T, c *Conn, _ *Intake, s *Stream) {
			if opened, err := c.OpenStream(s, &Frames{Headers: fields{":method", "POST"}}, size); !opened || err != nil {
				t.Fatalf("opened %t, %v", opened, err)
			}
			_ = s.out.Add(size)
			if err := c.Queue(s, &Frames{HasData: true, Data: OnePiece(piece)}, size); err != nil {
				t.Fatal(err)
			}
			drain(t, c)
			c.ResetStream(s, frame.Cancel)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := started(t, tt.side)
			var in Intake
			in.Begin(c.Config(), Lasting{}, hpack.Frozen{}, nil)
			update := func(id, n uint32) {
				t.Helper()
				if err := c.OnWindowUpdate(frame.Header{Type: frame.WindowUpdate, Length: 4, StreamID: id}, binary.BigEndian.AppendUint32(nil, n)); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				update(0, size)
				s := new(Stream)
				s.Init(deaf{}, 0)
				tt.end(t, c, &in, s)
				if n := s.Unsent(); n > 0 || c.IsOpen(s) {
					t.Fatalf("%d bytes are unsent; open: %t", n, c.IsOpen(s))
				}
				drain(t, c)
				for range size / each {
					update(s.Identifier(), each)
				}
			}
		})
	}
}
