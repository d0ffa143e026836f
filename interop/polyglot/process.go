// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startLimit bounds the time until a server listens, and stopLimit the time until it ends.
	startLimit = 3 * time.Minute
	stopLimit  = 15 * time.Second
	// clientLimit bounds a client's whole run, and buildLimit each command of a build.
	clientLimit = 3 * time.Minute
	buildLimit  = 20 * time.Minute
)

// lookFor returns those of the tools that are not on this machine, separated by commas.
func lookFor(tools []string) (missing string) {
	var names []string
	for _, name := range tools {
		if _, err := exec.LookPath(name); err != nil {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// do runs a command of a build in a folder, with env added to the environment.
func do(ctx context.Context, dir string, env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// output runs a client, and returns what it printed to standard output and standard error.
func output(ctx context.Context, cmd *exec.Cmd) (stdout, stderr string, err error) {
	timer := time.AfterFunc(clientLimit, func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	defer timer.Stop()
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	return string(out), log.String(), errors.Join(err, ctx.Err())
}

// freePort returns a port of the loopback interface that was free when freePort returned.
func freePort() (int, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer lis.Close()
	return lis.Addr().(*net.TCPAddr).Port, nil
}

// process is a running server.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	log   safeBuffer
	// gentle is the signal that asks the server to end, if it does not end with its input.
	gentle string
	// ended is closed when the process has ended. err is then its exit error.
	ended chan struct{}
	err   error
}

// safeBuffer is a buffer for what a process prints. It can be read while the process prints.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// startServer starts a server and waits until something listens at t.
func startServer(ctx context.Context, cmd *exec.Cmd, t target) (*process, error) {
	s := &process{cmd: cmd, ended: make(chan struct{})}
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.err = cmd.Wait()
		close(s.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", t.host+":"+strconv.Itoa(t.port))
		if err == nil {
			return s, conn.Close()
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return nil, fmt.Errorf("%s ended: %w\n%s", cmd.Path, s.err, s.log.String())
		case <-ctx.Done():
			_ = s.stop()
			return nil, fmt.Errorf("%s does not listen: %w\n%s", cmd.Path, ctx.Err(), s.log.String())
		}
	}
}

// stop closes the server's input and sends its gentle signal, if it has one. If the server does
// not end then, stop sends SIGTERM, and after that SIGKILL. It returns an error only for a crash.
func (s *process) stop() error {
	s.stdin.Close()
	if s.gentle != "" {
		_ = exec.Command("kill", "-"+s.gentle, strconv.Itoa(s.cmd.Process.Pid)).Run()
	}
	for _, signal := range []os.Signal{nil, syscall.SIGTERM, os.Kill} {
		if signal != nil {
			_ = s.cmd.Process.Signal(signal)
		}
		wait := stopLimit
		if signal == nil {
			wait = time.Second
		}
		select {
		case <-s.ended:
			return s.crash()
		case <-time.After(wait):
		}
	}
	<-s.ended
	return s.crash()
}

// crash returns the error with which the server ended by itself: with a panic, or by a signal
// that stop does not send. It returns nil if the server ended because of stop.
func (s *process) crash() error {
	var exit *exec.ExitError
	if !errors.As(s.err, &exit) {
		return s.err
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && (status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGKILL) {
		return nil
	}
	// Java's virtual machine exits with this code after SIGTERM.
	if exit.ExitCode() == 128+int(syscall.SIGTERM) {
		return nil
	}
	return fmt.Errorf("%s: %w\n%s", s.cmd.Path, s.err, s.log.String())
}
