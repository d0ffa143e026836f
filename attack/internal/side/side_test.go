// SPDX-License-Identifier: Apache-2.0

package side

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var atWork = flag.Bool("side", false, "take orders from the standard input; package crossing gives them")

// TestSide is the program.
func TestSide(t *testing.T) {
	if !*atWork {
		t.Skip("package crossing runs it")
	}
	runtime.GOMAXPROCS(1)
	in, out := bufio.NewReaderSize(os.Stdin, 1<<16), os.Stdout
	for {
		m, err := Read(in)
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var all *side
		synctest.Test(t, func(t *testing.T) {
			s := &side{t: t, out: out, conns: map[int]*conn{}, settings: m.M, seed: uint64(m.D)}
			s.ground = newGround(s)
			if m.N == Client {
				s.role = newClient(s)
			} else {
				s.role = newServer(s)
			}
			all = s
			s.live(in)
		})
		all.answer() // only now has every goroutine of the history ended
	}
}

// role is what a client and a server do differently.
type role interface {
	do(Message)
	end()
}

// side is what a history has on this side.
type side struct {
	t        *testing.T
	role     role
	settings int
	seed     uint64
	ground   *ground
	out      io.Writer

	mu     sync.Mutex
	conns  map[int]*conn
	events []byte
}

func (s *side) has(setting int) bool { return s.settings&setting != 0 }

// tell queues an event.
func (s *side) tell(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = m.Append(s.events)
}

func (s *side) fault(format string, args ...any) {
	s.tell(Message{Op: Fault, Data: fmt.Appendf(nil, format, args...)})
}

// live takes orders until the end.
func (s *side) live(in *bufio.Reader) {
	for {
		m, err := Read(in)
		if err != nil {
			os.Exit(0) // the one that gives orders has gone
		}
		switch m.Op {
		case Wait:
			synctest.Wait()
			s.answer()
		case Sleep:
			time.Sleep(m.D)
		case Stacks:
			b := make([]byte, 1<<20)
			s.tell(Message{Op: Told, Data: b[:runtime.Stack(b, true)]})
		case End:
			s.role.end()
			return
		case Deliver, EOF, Reset, Room:
			if c := s.conn(m.Conn); c != nil {
				c.do(m)
			}
		default:
			s.role.do(m)
		}
	}
}

func (s *side) conn(id int) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[id]
}

func (s *side) answer() {
	s.mu.Lock()
	b := (Message{Op: Quiet}).Append(s.events)
	s.events = s.events[:0]
	s.mu.Unlock()
	if _, err := s.out.Write(b); err != nil {
		os.Exit(0)
	}
}
