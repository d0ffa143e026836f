// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" { // the test has started itself as a server
		main()
		return
	}
	os.Exit(m.Run())
}

// Nothing that was accepted is lost, and nothing comes twice, while the server is restarted.
func TestRestarts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("two processes can't listen on one address")
	}
	trial := trial{conns: 2, followers: 10, publishers: 2, restarts: 2, every: 200 * time.Millisecond}
	if err := trial.run(); err != nil {
		t.Fatal(err)
	}
}
