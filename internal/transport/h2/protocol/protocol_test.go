// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// allowed are the names of packages that could do more than compute, of which a few are used: memory
// that is used again, and lengths of time.
var allowed = map[string]string{
	"sync": "Pool",
	"time": "Duration Time Nanosecond Microsecond Millisecond Second Minute Hour",
}

// TestPure: the package starts no goroutine, waits for nothing, locks nothing, and asks no clock. What
// it may import is for the linter, but for the names above.
func TestPure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if what := impure(n); what != "" {
				t.Errorf("%v: %s", set.Position(n.Pos()), what)
			}
			return true
		})
	}
}

// impure says what is not allowed in n, "" for nothing.
func impure(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
		return "a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a channel"
		}
	case *ast.ImportSpec:
		switch path := strings.Trim(n.Path.Value, `"`); path {
		case "net", "os", "io", "context", "sync/atomic", "syscall", "runtime", "log", "unsafe":
			return "package " + path
		}
	case *ast.SelectorExpr:
		if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil {
			names, checked := allowed[id.Name]
			if checked && !strings.Contains(" "+names+" ", " "+n.Sel.Name+" ") {
				return id.Name + "." + n.Sel.Name
			}
		}
	}
	return ""
}

// fields is a header list to send: names and values in turn.
type fields []string

func (f fields) AppendFields(w *FieldWriter) {
	for i := 0; i < len(f); i += 2 {
		w.Field(f[i], f[i+1])
	}
}

// deaf is a Receiver that keeps nothing.
type deaf struct{}

func (deaf) OnHeaders(*HeaderBlock, bool) error { return nil }
func (deaf) Take([]byte, int, int) (int, error) { return 0, nil }
func (deaf) Space(int, int) []byte              { return nil }
func (deaf) Filled(int) (int, error)            { return 0, nil }
func (deaf) OnEnd() error                       { return nil }
func (deaf) OnAbort(*StreamError)               {}

// started returns a connection that has begun, and the first frames of which were taken.
func started(t *testing.T, side Side) *Conn {
	t.Helper()
	c := New(side, &Config{Pool: internalmem.Default()})
	if _, ok := c.Start(); !ok {
		t.Fatal("it does not start")
	}
	drain(t, &c)
	return &c
}

// drain takes and frees all that is queued, and returns how much that was, in bytes.
func drain(t *testing.T, c *Conn) (n int) {
	t.Helper()
	if !c.TakeToken() {
		return 0
	}
	for {
		p, ok := c.Take(1 << 20)
		if !ok {
			return n
		}
		n += p.Size()
		p.Free(c.Config().Pool)
	}
}

// TestOutOfIDs: a client that has used up its stream ids opens none, and ends when the last stream has.
func TestOutOfIDs(t *testing.T) {
	c := started(t, Client)
	c.streams.nextLocal = 1<<31 - 1
	var s Stream
	s.Init(deaf{}, 0)
	if err := c.MayOpen(); err != nil {
		t.Fatal(err)
	}
	opened, err := c.OpenStream(&s, &Frames{Headers: fields{":method", "POST"}, End: true}, 1<<20)
	if !opened || err != nil || s.Identifier() != 1<<31-1 {
		t.Fatalf("opened %t, %v, id %d", opened, err, s.Identifier())
	}
	if err := c.MayOpen(); err != ErrDraining {
		t.Errorf("another: %v", err)
	}
	if drain(t, c) == 0 || c.TakeTodo() != 0 {
		t.Error("nothing to write, or more to do while the stream is open")
	}
	if !c.ResetStream(&s, 0) {
		t.Error("it was not open")
	}
	if drain(t, c) == 0 {
		t.Error("nothing is said")
	}
	if d := c.TakeTodo(); !d.Has(CloseConn) || !d.Has(LastIsOver) {
		t.Errorf("to do: %b", d)
	}
}

// TestParkKeepsNothing: a connection that is parked keeps, of what encodes header blocks, their table
// alone, packed: and one table for all that have the same.
func TestParkKeepsNothing(t *testing.T) {
	var packed [2]hpack.Frozen
	for i := range packed {
		c := started(t, Client)
		var s Stream
		s.Init(deaf{}, 0)
		if _, err := c.OpenStream(&s, &Frames{Headers: fields{"name", "value"}, End: true}, 1<<20); err != nil {
			t.Fatal(err)
		}
		drain(t, c)
		c.ResetStream(&s, 0)
		drain(t, c)
		c.Park(nil, 0)
		if c.out.coder != nil || c.streams.byID != nil || !c.out.buf.empty() || c.out.reader != readerAway {
			t.Errorf("an idle one keeps coder %t, %d streams, %d bytes", c.out.coder != nil, c.streams.byID.len(), c.out.buf.memory())
		}
		packed[i] = c.out.sending
	}
	if packed[0].IsNew() || packed[0] != packed[1] {
		t.Errorf("one keeps %v, the other %v", packed[0], packed[1])
	}
}
