// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"
	"time"

	"google.golang.org/grpc/keepalive"
)

func TestPingPolicy(t *testing.T) {
	type ping struct {
		after   time.Duration // the one before
		streams int
		sent    bool
	}
	fast, slow := time.Second, 5*time.Minute
	const never = -1
	for _, tt := range []struct {
		name   string
		policy keepalive.EnforcementPolicy
		pings  []ping
		fails  int // which is too many
	}{
		{"two strikes are forgiven", keepalive.EnforcementPolicy{MinTime: slow}, []ping{{0, 1, false}, {fast, 1, false}, {fast, 1, false}}, never},
		{"not three", keepalive.EnforcementPolicy{MinTime: slow}, []ping{{0, 1, false}, {fast, 1, false}, {fast, 1, false}, {fast, 1, false}}, 3},
		{"seldom enough", keepalive.EnforcementPolicy{MinTime: slow}, []ping{{0, 1, false}, {slow, 1, false}, {slow, 1, false}, {slow, 1, false}, {slow, 1, false}}, never},
		{"without streams", keepalive.EnforcementPolicy{MinTime: slow}, []ping{{0, 0, false}, {slow, 0, false}, {slow, 0, false}, {slow, 0, false}}, 3},
		{"without streams, seldom enough", keepalive.EnforcementPolicy{MinTime: slow}, []ping{{0, 0, false}, {2 * time.Hour, 0, false}, {2 * time.Hour, 0, false}, {2 * time.Hour, 0, false}}, never},
		{"without streams, permitted", keepalive.EnforcementPolicy{MinTime: slow, PermitWithoutStream: true}, []ping{{0, 0, false}, {slow, 0, false}, {slow, 0, false}, {slow, 0, false}}, never},
		{"what was sent resets the count", keepalive.EnforcementPolicy{MinTime: slow}, []ping{{0, 1, false}, {fast, 1, false}, {fast, 1, false}, {fast, 1, true}, {fast, 1, false}, {fast, 1, false}, {fast, 1, false}}, 6},
	} {
		var p pingCount
		now := int64(1)
		for i, ping := range tt.pings {
			now += int64(ping.after)
			err := p.ping(&tt.policy, now, ping.streams, ping.sent)
			if (err != nil) != (i == tt.fails) {
				t.Errorf("%s: ping %d: %v", tt.name, i, err)
			}
		}
	}
}
