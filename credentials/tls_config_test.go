// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"fmt"
	"sync"
	"testing"
)

func TestNamedConfigs(t *testing.T) {
	var n namedConfigs
	base := &tls.Config{MinVersion: tls.VersionTLS13}
	a := n.get(base, "a")
	if a.ServerName != "a" || a.MinVersion != base.MinVersion || base.ServerName != "" {
		t.Errorf("the copy is for %q, the original for %q", a.ServerName, base.ServerName)
	}
	if n.get(base, "a") != a {
		t.Error("a second copy for the same server")
	}
	for i := range n.recent {
		name := fmt.Sprint("other", i)
		if c := n.get(base, name); c.ServerName != name {
			t.Errorf("a copy for %q in place of %q", c.ServerName, name)
		}
	}
	if again := n.get(base, "a"); again == a || again.ServerName != "a" {
		t.Error("a copy that is not recent was kept")
	}
}

func TestNamedConfigsTogether(t *testing.T) {
	var n namedConfigs
	base := &tls.Config{MinVersion: tls.VersionTLS13}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			name := fmt.Sprint(i % 6)
			for range 100 {
				if c := n.get(base, name); c.ServerName != name {
					t.Errorf("a copy for %q in place of %q", c.ServerName, name)
				}
			}
		})
	}
	running.Wait()
}
