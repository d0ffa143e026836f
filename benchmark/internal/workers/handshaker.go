// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// altsRecord is how large the handshaker service lets records be for a party whose peer
// has not said: all that ALTS allows, to which this module's parties agree by themselves.
const altsRecord = 1 << 20

// handshaker is an ALTS handshaker service for tests, of this module, that runs.
type handshaker struct {
	addr string
	cmd  *exec.Cmd
	in   io.Closer // its input, with which it ends
}

// buildHandshaker returns the path of the program.
var buildHandshaker = sync.OnceValues(func() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := program(root, "handshaker")
	cmd := exec.Command("go", "build", "-o", path, "./handshaker")
	cmd.Dir = filepath.Join(filepath.Dir(root), "credentials", "alts", "interop")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the handshaker service: %w\n%s", err, out)
	}
	return path, nil
})

func startHandshaker(ctx context.Context) (*handshaker, error) {
	path, err := buildHandshaker()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "-record", strconv.Itoa(altsRecord))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the handshaker service: %w", err)
	}
	h := &handshaker{cmd: cmd, in: in}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the handshaker service gave no address: %w", errors.Join(err, h.close()))
	}
	h.addr = strings.TrimSpace(line)
	return h, nil
}

func (h *handshaker) close() error {
	_ = h.in.Close() // one that is dead already tells by Wait
	return h.cmd.Wait()
}
