// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/benchmark/internal/cloud"
)

// Spec says which worker to start.
type Spec struct {
	Name string   // for messages
	Path string   // of the program
	Env  []string // added to this program's environment
	// Cloud lets the worker take the machine for one of Google's.
	Cloud bool
	// Start starts the program's command, if it is not the command's own method that does.
	Start func(*exec.Cmd) error
}

// Process is a worker that runs. Its methods are for one goroutine at a time.
type Process struct {
	spec   Spec
	cmd    *exec.Cmd
	wait   func() error // for its end, any number of times
	in     io.WriteCloser
	enc    *json.Encoder
	lines  *json.Decoder
	stderr *output
}

// Start starts a worker, which is killed when ctx ends.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	cmd := exec.CommandContext(ctx, spec.Path)
	cmd.Env = append(os.Environ(), spec.Env...)
	if spec.Cloud {
		if err := cloud.Pretend(cmd); err != nil {
			return nil, err
		}
	}
	p := &Process{spec: spec, cmd: cmd, wait: sync.OnceValue(cmd.Wait), stderr: &output{}}
	cmd.Stderr = p.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if spec.Start == nil {
		spec.Start = (*exec.Cmd).Start
	}
	if err := spec.Start(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	p.in, p.enc, p.lines = in, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	return p, nil
}

// Call asks the worker for an operation and waits for it. Progress may be nil.
func Call[R any](p *Process, op string, args any, progress Progress) (R, error) {
	var result R
	raw, err := json.Marshal(args)
	if err != nil {
		return result, err
	}
	if err := p.enc.Encode(request{Op: op, Args: raw}); err != nil {
		return result, p.died(op, err)
	}
	for {
		var r reply
		if err := p.lines.Decode(&r); err != nil {
			return result, p.died(op, err)
		}
		if !r.Done {
			if progress != nil {
				progress(r.Count, r.Total)
			}
			continue
		}
		if r.Error != "" {
			return result, p.explain(op, fmt.Errorf("%s", r.Error))
		}
		return result, json.Unmarshal(r.Result, &result)
	}
}

// Close ends the worker: politely, and after a few seconds by force.
func (p *Process) Close() error {
	_ = p.in.Close() // a worker that is already dead reports itself through Wait
	kill := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	return p.wait()
}

// died waits for the end of a worker that no longer answers, so that all it had to say is
// there.
func (p *Process) died(op string, err error) error {
	return p.explain(op, errors.Join(err, p.Close()))
}

func (p *Process) explain(op string, err error) error {
	if text := p.stderr.String(); text != "" {
		return fmt.Errorf("%s: %s: %w\nit printed:\n%s", p.spec.Name, op, err, text)
	}
	return fmt.Errorf("%s: %s: %w", p.spec.Name, op, err)
}

// output keeps the beginning of what a worker prints, where a crash says what it is, up to
// a limit.
type output struct {
	mu  sync.Mutex
	buf strings.Builder
}

const outputLimit = 8 << 10

func (t *output) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := outputLimit - t.buf.Len(); room > 0 {
		t.buf.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (t *output) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
