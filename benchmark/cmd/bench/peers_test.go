// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
)

func TestRunPeersRefuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-n none", "list of numbers"},
		{"-rows (", "missing closing"},
	} {
		err := runPeers(context.Background(), strings.Fields(tt.args))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.args, err, tt.want)
		}
	}
}

func TestPeersBuildRefusesWhoIsNoPeer(t *testing.T) {
	p := &peersRun{options: peersOptions{peers: "no-such-peer"}}
	if _, err := p.build(context.Background()); err == nil || !strings.Contains(err.Error(), "connect-go") {
		t.Errorf("the error is %v, want one that names the peers", err)
	}
}
