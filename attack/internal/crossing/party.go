// SPDX-License-Identifier: Apache-2.0

package crossing

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"google.golang.org/grpc/attack/internal/process"
	"google.golang.org/grpc/attack/internal/side"
)

// program is a process that is a side of one history after the other.
type program struct {
	impl string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	text bytes.Buffer // what it printed for people
}

func start(ctx context.Context, impl, path string) (p *program, err error) {
	p = &program{impl: impl, cmd: exec.CommandContext(ctx, path, "-test.run", "^TestSide$", "-test.timeout", "0", "-side")}
	p.cmd.Stderr = &p.text
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 1<<16)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *program) close() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// patience is how long a side may take for what takes it no time.
const patience = 20 * time.Second

// exchange writes orders, and reads what has happened until the program is quiet.
func (p *program) exchange(orders []byte, hear func(side.Message)) error {
	if _, err := p.in.Write(orders); err != nil {
		return p.dead(err)
	}
	slow := time.AfterFunc(patience, func() { _ = p.cmd.Process.Signal(syscall.SIGQUIT) })
	defer slow.Stop()
	for {
		m, err := side.Read(p.out)
		if err != nil {
			return p.dead(err)
		}
		if m.Op == side.Quiet {
			return nil
		}
		hear(m)
	}
}

// dead is the error of a program that has ended, with what it printed.
func (p *program) dead(err error) error {
	_ = p.in.Close()
	rest, _ := io.ReadAll(p.out)
	_ = p.cmd.Wait()
	text := append(rest, p.text.Bytes()...)
	if p.impl == process.Published && bytes.Contains(text, []byte("[sync.Mutex.Lock, synctest bubble")) {
		return errLocked
	}
	return fmt.Errorf("%w: %v\n%s", err, p.cmd.ProcessState, text)
}

// errLocked is the error of a side of the published module that does not come to rest, because a goroutine of its waits
// for a lock whose holder waits for the network. For a bubble that is no rest, and its clock stands still.
var errLocked = errors.New("a goroutine of the published module waits for a lock")

// party is a side in a history.
type party struct {
	*program
	name   string
	orders []byte // not yet given
	log    *[]entry
}

// entry is something that was ordered, or that happened.
type entry struct {
	who     string
	now     time.Duration
	message side.Message
}

func (e entry) String() string {
	arrow := "  -> "
	if e.message.Op >= side.Quiet {
		arrow = "  <- "
	}
	return fmt.Sprintf("%10v %s%s%v", e.now, e.who, arrow, e.message)
}

func (p *party) order(now time.Duration, m side.Message) {
	p.orders = m.Append(p.orders)
	*p.log = append(*p.log, entry{p.name, now, m})
}

// flush gives the orders.
func (p *party) flush(hear func(side.Message)) error {
	b := p.orders
	p.orders = p.orders[:0]
	return p.exchange(b, hear)
}
