// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"google.golang.org/grpc/mem"
)

// DATA is given back to the connection's window, whether or not a stream is open.
func TestCountWithoutStreams(t *testing.T) {
	pool := mem.NopBufferPool{}
	c, in := New(Server, &Config{Pool: pool}), new(Intake)
	for range 100 {
		if err := c.Count(in, 16<<10); err != nil {
			t.Fatal(err)
		}
	}
	if c.Encoded() == 0 || !in.Induced {
		t.Error("1.6 MB have arrived, and no update of the window is queued")
	}
	c.DropOutput()
}
