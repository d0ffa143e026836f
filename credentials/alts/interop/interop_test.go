// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc/credentials/alts/internal/altstest"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
)

// startHandshaker starts a handshaker service and returns its address. Where a party does
// not say how large the records may be that it reads (the published module never
// does), the service says record for it.
func startHandshaker(t testing.TB, record int) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(altstest.Serve(lis, &altstest.Service{Amend: func(r *altspb.HandshakerResult) {
		if r.MaxFrameSize == 0 {
			r.MaxFrameSize = uint32(record)
		}
	}}))
	return lis.Addr().String()
}

var pairs = []struct{ client, server string }{{ours, published}, {published, ours}, {ours, ours}, {published, published}}

// Every implementation against every other, at every record size: unary calls up to 64
// MiB, and a stream.
func TestInterop(t *testing.T) {
	needCloud(t)
	for _, pair := range pairs {
		for record := 4 << 10; record <= 1<<20; record *= 2 {
			if pair.client == published && pair.server == published && record > 4<<10 {
				continue // only to know that the cases are right
			}
			t.Run(fmt.Sprintf("%s-%s/%dKiB", nameOf(pair.client), nameOf(pair.server), record>>10), func(t *testing.T) {
				handshaker := startHandshaker(t, record)
				tap, addr := startTap(t, startServer(t, pair.server, handshaker, record).addr)
				cmd := program(t, pair.client, record, "-role", "client", "-handshaker", handshaker, "-target", addr, "-account", altstest.ServerAccount)
				if out, err := cmd.Output(); err != nil {
					t.Fatalf("the client of %s: %v\n%s", nameOf(pair.client), err, out)
				}
				tap.mu.Lock()
				defer tap.mu.Unlock()
				if tap.err != nil {
					t.Error(tap.err)
				}
				t.Logf("largest records: client %d, server %d", tap.largest[0], tap.largest[1])
				// Ours writes records as large as allowed, unless frames of its own size, 256
				// KiB, or the reader's window are what ends a write.
				full := min(record, 256<<10)
				for side, impl := range []string{pair.client, pair.server} {
					got := tap.largest[side]
					if got > record || impl == ours && got < full {
						t.Errorf("side %d: the largest record has %d bytes", side, got)
					}
				}
			})
		}
	}
}

// A client refuses a server that is not who it should be.
func TestWrongAccount(t *testing.T) {
	needCloud(t)
	handshaker := startHandshaker(t, 0)
	for _, pair := range pairs[:2] {
		addr := startServer(t, pair.server, handshaker, 0).addr
		cmd := program(t, pair.client, 0, "-role", "client", "-handshaker", handshaker, "-target", addr, "-account", "other@example.com", "-deadline", "2s")
		cmd.Stderr = nil
		if out, err := cmd.Output(); err == nil {
			t.Errorf("the client of %s accepts the server: %s", nameOf(pair.client), out)
		}
	}
}
