// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// browser is a headless browser of this machine.
func browser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium on this machine")
	return ""
}

// A browser makes of each page what was meant: tables with as many cells in each row as in their
// heading, and a title.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	path := browser(t)
	p := watched(t)
	s := httptest.NewServer(p)
	defer s.Close()
	server := get(t, p, "").Servers
	for query, want := range map[string][]string{
		"/": {"<title>gRPC</title>", `id="process"`, "/grpc.health.v1.Health/Watch</td>"},
		fmt.Sprintf("/?server=%d", server[len(server)-1].ID): {"<title>gRPC: server", `<table id="connections">`, "</td></tr>"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		out, err := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--user-data-dir="+t.TempDir(), "--dump-dom", s.URL+query).Output()
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, text := range want {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s lacks %s: %s", query, text, out)
			}
		}
	}
}
