// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// StartHandshaker builds and starts the ALTS handshaker service for tests of this module.
func StartHandshaker(ctx context.Context) (addr string, stop func(), err error) {
	root, err := Root()
	if err != nil {
		return "", nil, err
	}
	out, err := OutDir()
	if err != nil {
		return "", nil, err
	}
	path := filepath.Join(out, "handshaker")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./handshaker")
	build.Dir = filepath.Join(filepath.Dir(root), "credentials", "alts", "interop")
	if text, err := build.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("building the handshaker service: %w\n%s", err, text)
	}
	cmd := exec.CommandContext(ctx, path)
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(answers).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the handshaker service gave no address: %w", errors.Join(err, cmd.Wait()))
	}
	return strings.TrimSpace(line), func() {
		_ = in.Close() // it ends with its input
		_ = cmd.Wait()
	}, nil
}
