// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
)

// Implementations, by the module file that the programs are built with.
const (
	ours      = "go.mod"
	published = "published.mod"
)

func nameOf(impl string) string {
	if impl == ours {
		return "ours"
	}
	return "published"
}

var built struct {
	sync.Mutex
	dir  string
	path map[string]string
}

// build returns the program of an implementation.
func build(t testing.TB, impl string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if p := built.path[impl]; p != "" {
		return p
	}
	p := filepath.Join(built.dir, nameOf(impl))
	if out, err := exec.Command("go", "build", "-modfile", impl, "-o", p, "./peer").CombinedOutput(); err != nil {
		t.Fatalf("building the program of %s: %v\n%s", nameOf(impl), err, out)
	}
	built.path[impl] = p
	return p
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "alts")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir, built.path = dir, map[string]string{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// program runs the program of an implementation where the machine is one of Google's, with
// records up to the given size (0: the default).
func program(t testing.TB, impl string, record int, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := inCloud(exec.CommandContext(ctx, build(t, impl), args...))
	cmd.Stderr = os.Stderr
	if record > 0 {
		cmd.Env = append(os.Environ(), fmt.Sprintf("GRPC_GO_EXPERIMENTAL_ALTS_MAX_FRAME_SIZE=%d", record))
	}
	return cmd
}

// serverProcess is a server that runs until the end of the test, or stop.
type serverProcess struct {
	addr string
	stop func() (cpu time.Duration)
}

func startServer(t testing.TB, impl, handshaker string, record int) serverProcess {
	t.Helper()
	cmd := program(t, impl, record, "-role", "server", "-handshaker", handshaker)
	in, out := testutils.StartPiped(t, cmd)
	stop := sync.OnceValue(func() time.Duration {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server of %s: %v", nameOf(impl), err)
		}
		return cpuOf(cmd)
	})
	t.Cleanup(func() { stop() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server of %s gave no address: %v", nameOf(impl), err)
	}
	return serverProcess{strings.TrimSpace(line), stop}
}

// cpuOf is the processor time of a program that has ended.
func cpuOf(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
