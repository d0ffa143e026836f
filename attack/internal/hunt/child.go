// SPDX-License-Identifier: Apache-2.0

package hunt

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/attack/internal/peer"
	"google.golang.org/grpc/attack/internal/process"
)

// child is a peer in a process of its own. What it prints for people goes to a file.
type child struct {
	cmd *exec.Cmd
	out *bufio.Scanner
	log *os.File

	mu sync.Mutex
	in io.WriteCloser
}

// start builds and starts a peer.
func (h *hunt) start(ctx context.Context, impl, name string) (*child, error) {
	path, err := process.BuildPeer(ctx, impl)
	if err != nil {
		return nil, err
	}
	dir, err := process.OutDir()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, path)}
	if c.log, err = os.Create(filepath.Join(dir, h.prefix+name+".log")); err != nil {
		return nil, err
	}
	c.cmd.Stderr = c.log
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	h.all = append(h.all, c)
	return c, nil
}

func (c *child) order(o peer.Order) error {
	b, err := json.Marshal(o)
	if err == nil {
		c.say(string(b))
	}
	return err
}

// say writes a line. A peer that has ended tells so by its output.
func (c *child) say(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintln(c.in, line)
}

// answer is the next line of a peer that is no word of a call that hangs; of such a word those are told who
// are given.
func answer[A any](c *child, hangs ...func()) (a A, err error) {
	for c.out.Scan() {
		if c.out.Text() == peer.Hangs {
			for _, f := range hangs {
				f()
			}
			continue
		}
		return a, json.Unmarshal(c.out.Bytes(), &a)
	}
	if err := c.out.Err(); err != nil {
		return a, err
	}
	return a, io.ErrUnexpectedEOF
}

// close ends a peer: politely, and after a few seconds by force.
func (c *child) close() {
	c.mu.Lock()
	_ = c.in.Close()
	c.mu.Unlock()
	kill := time.AfterFunc(3*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	_ = c.cmd.Wait() // how it went it has said
	if info, err := c.log.Stat(); err == nil && info.Size() == 0 {
		_ = os.Remove(c.log.Name())
	}
	c.log.Close()
}

// sockets writes down what the system knows of the sockets, where there is a program that says so.
func (h *hunt) sockets() {
	text, err := exec.Command("ss", "-tanpie").CombinedOutput()
	if dir, derr := process.OutDir(); err == nil && derr == nil {
		_ = os.WriteFile(filepath.Join(dir, h.prefix+"sockets.log"), text, 0o600)
	}
}
