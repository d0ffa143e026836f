// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"crypto/tls"
	"net"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/altsconn"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/tlsconn"
)

// What is below leaves its Write to the socket, or declares one, and reads as what it embeds does.
type (
	writes      struct{ embeds }
	waitsAlone  struct{ *waits }
	triesAlone  struct{ *tries }
	namesItsOwn struct{ *tellsCounts }
)

func (w *writes) Write(p []byte) (int, error)      { return w.Conn.Write(p) }
func (w *waitsAlone) WritesOf() net.Conn           { return w.c }
func (t *triesAlone) WritesOf() net.Conn           { return t.c }
func (n *namesItsOwn) Write(p []byte) (int, error) { return n.Conn.Write(p) }

// ways are the rows of the table of wrappers in ARCHITECTURE.md: what Read does, what Write does, and wrappers
// that do so.
var ways = []struct {
	read, write string
	wrappers    []func(net.Conn) net.Conn
}{
	{"the socket's (embedded, `Reading`, `ReadCounter`)", "the socket's (embedded, `Writing`, `WriteCounter`)", []func(net.Conn) net.Conn{
		func(c net.Conn) net.Conn { return embeds{c} },
		func(c net.Conn) net.Conn { return &optsIn{plain{c}} },
		func(c net.Conn) net.Conn { return &tellsCounts{meter{Conn: c}} },
	}},
	{"the same", "its own", []func(net.Conn) net.Conn{
		func(c net.Conn) net.Conn { return &writes{embeds{c}} },
		func(c net.Conn) net.Conn { return &namesItsOwn{&tellsCounts{meter{Conn: c}}} },
		newCountsReads,
	}},
	{"a `TryReader`'s", "any", []func(net.Conn) net.Conn{
		newTries,
		func(c net.Conn) net.Conn { return &triesAlone{newTries(c).(*tries)} },
	}},
	{"a `ReadyReader`'s", "any", []func(net.Conn) net.Conn{
		func(c net.Conn) net.Conn { return &waits{plain{c}} },
		func(c net.Conn) net.Conn { return &waitsAlone{&waits{plain{c}}} },
	}},
	{"its own, and says nothing", "any", []func(net.Conn) net.Conn{
		Meter,
		func(c net.Conn) net.Conn { return &readMeter{Conn: c} },
	}},
}

// securities are the columns: how a connection is secured, and what is read then.
var securities = []func(*testing.T, net.Conn) net.Conn{
	func(_ *testing.T, c net.Conn) net.Conn { return c },
	func(_ *testing.T, c net.Conn) net.Conn {
		config, _ := configs()
		if ours, ok := tlsconn.New(c, config, tlsconn.Options{Server: true, Release: true}); ok {
			return ours
		}
		return tls.Server(c, config)
	},
	func(t *testing.T, c net.Conn) net.Conn {
		key := make([]byte, altsconn.KeySize(altsconn.AES128GCM))
		a, err := altsconn.New(readyreader.NewSocket(c), altsconn.Config{Side: altsconn.Server, Protocol: altsconn.AES128GCM, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return a
	},
	func(_ *testing.T, c net.Conn) net.Conn {
		config, _ := configs()
		return tlsconn.Adopt(tls.Server(c, config), tlsconn.Options{Server: true, Release: true})
	},
}

// Which connections park is what ARCHITECTURE.md says.
func TestTable(t *testing.T) {
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling || !tlsconn.CanGiveBack() {
		t.Skip("not all of them can park here")
	}
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ways {
		row := "| " + w.read + " | " + w.write + " |"
		for _, secured := range securities {
			cell := ""
			for _, wrap := range w.wrappers {
				client, _ := testutils.Sockets(t, "tcp")
				this := " a goroutine |"
				if can := readyreader.NewSocket(secured(t, wrap(client))).Can(); can.Has(readyreader.TriesReads) && !can.Has(readyreader.WaitsInRead) {
					this = " parks |"
				}
				if cell != "" && cell != this {
					t.Errorf("%T over %s, %s:%s, others%s", secured, w.read, w.write, this, cell)
				}
				cell = this
			}
			row += cell
		}
		if !strings.Contains(string(text), "\n"+row+"\n") {
			t.Errorf("ARCHITECTURE.md has not the row\n%s", row)
		}
	}
}
