// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
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
		c.Refused()
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
