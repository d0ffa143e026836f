// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"google.golang.org/grpc/attack/internal/cloud"
)

// Process is a victim, or one who stands beside. Its methods are for one goroutine at a
// time.
type Process struct {
	cmd    *exec.Cmd
	wait   func() error // for its end, any number of times
	in     io.WriteCloser
	enc    *json.Encoder
	dec    *json.Decoder
	stderr output
}

// Spec says which program to start.
type Spec struct {
	Path string
	// Cloud lets it take the machine for one of Google's, as ALTS wants it.
	Cloud bool
	// Env is what its environment has more.
	Env []string
}

// Start starts a program, which is killed when ctx ends.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	cmd := exec.CommandContext(ctx, spec.Path)
	if spec.Cloud {
		if err := cloud.Pretend(cmd); err != nil {
			return nil, err
		}
	}
	if len(spec.Env) > 0 {
		cmd.Env = append(cmd.Environ(), spec.Env...)
	}
	p := &Process{cmd: cmd, wait: sync.OnceValue(cmd.Wait)}
	cmd.Stderr = &p.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.in, p.enc, p.dec = in, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	return p, nil
}

// answerTime is how long a process may take to answer. One that takes longer hangs; it is
// killed.
const answerTime = 60 * time.Second

// Ask asks for an operation and waits for it.
func Ask[R any](p *Process, op string, args any) (R, error) {
	var answer struct {
		Result R
		Error  string
	}
	hung := time.AfterFunc(answerTime, p.Kill)
	defer hung.Stop()
	err := p.enc.Encode(map[string]any{"Op": op, "Args": args})
	if err == nil {
		err = p.dec.Decode(&answer)
	}
	if err != nil {
		return answer.Result, fmt.Errorf("%s: %w", op, errors.Join(err, p.Close()))
	}
	if answer.Error != "" {
		return answer.Result, fmt.Errorf("%s: %s", op, answer.Error)
	}
	return answer.Result, nil
}

// ID is the process's number.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Kill ends the process at once.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Close ends the process: politely, and after a few seconds by force.
func (p *Process) Close() error {
	_ = p.in.Close() // one that is dead already tells by wait
	kill := time.AfterFunc(3*time.Second, p.Kill)
	defer kill.Stop()
	return p.wait()
}

// Printed is the beginning of what it printed, where a crash says what it is.
func (p *Process) Printed() string { return p.stderr.String() }

// output keeps the beginning of what a process prints, up to a limit.
type output struct {
	mu  sync.Mutex
	buf []byte
}

const outputLimit = 8 << 10

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := outputLimit - len(o.buf); room > 0 {
		o.buf = append(o.buf, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.buf)
}
