// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newPath is a path until the test ends, which is skipped where there can be none.
func newPath(t testing.TB, shape Shape, congestion string) *Path {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	p, err := New(shape, congestion)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// connect joins both ends with a connection.
func connect(t testing.TB, p *Path) (near, far net.Conn) {
	t.Helper()
	lis, err := p.Far().Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	near, err = p.Near().Dial(t.Context(), net.JoinHostPort(p.Far().Addr().String(), port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	far, err = lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// arrives sends data and checks what comes.
func arrives(t testing.TB, from, to net.Conn, data []byte) {
	t.Helper()
	go func() {
		if _, err := from.Write(data); err != nil {
			t.Error(err)
		}
	}()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(to, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, data) {
		t.Error("other bytes arrived than were sent")
	}
}

func TestPathCarriesWhatTCPSends(t *testing.T) {
	for name, test := range map[string]struct {
		shape Shape
		lost  bool
		full  bool
	}{
		"at once":       {shape: Shape{}},
		"later":         {shape: Shape{RoundTrip: 10 * time.Millisecond}},
		"with loss":     {shape: Shape{RoundTrip: time.Millisecond, Loss: 0.02}, lost: true},
		"out of order":  {shape: Shape{RoundTrip: time.Millisecond, Reorder: 0.1, ReorderBy: time.Millisecond}},
		"a short queue": {shape: Shape{RoundTrip: 5 * time.Millisecond, Rate: 50e6, Queue: 20_000}, full: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPath(t, test.shape, "")
			near, far := connect(t, p)
			data := random(4 << 20)
			arrives(t, near, far, data)
			arrives(t, far, near, data)
			there, back := p.Counts()
			for _, c := range []Counts{there, back} {
				if (c.Lost > 0) != test.lost || (c.Full > 0) != test.full || c.Refused > 0 || c.Bytes < uint64(len(data)) {
					t.Errorf("counted %+v", c)
				}
			}
		})
	}
}

func TestPathTakesItsRoundTrip(t *testing.T) {
	const roundTrip = 20 * time.Millisecond
	near, far := connect(t, newPath(t, Shape{RoundTrip: roundTrip}, ""))
	start := time.Now()
	arrives(t, near, far, []byte("ping"))
	arrives(t, far, near, []byte("pong"))
	if took := time.Since(start); took < roundTrip-time.Millisecond {
		t.Errorf("there and back took %v, want %v at least", took, roundTrip)
	}
}

func TestPathHasItsRate(t *testing.T) {
	const rate, size = 4e6, 2 << 20
	near, far := connect(t, newPath(t, Shape{Rate: rate}, ""))
	start := time.Now()
	arrives(t, near, far, random(size))
	if took, least := time.Since(start), time.Duration(size/rate*float64(time.Second)); took < least*9/10 {
		t.Errorf("%d bytes took %v, want %v at least", size, took, least)
	}
}

func TestPathDownCarriesNothingUntilUp(t *testing.T) {
	p := newPath(t, Shape{RoundTrip: time.Millisecond}, "")
	near, far := connect(t, p)
	arrives(t, near, far, []byte("before"))
	p.Down()
	if _, err := near.Write([]byte("while down")); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
		if there, _ := p.Counts(); there.Down > 0 {
			break
		} else if time.Now().After(late) {
			t.Fatalf("no packet met the link down: %+v", there)
		}
	}
	if err := far.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("while down"))
	if n, err := io.ReadFull(far, got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes came over a link that is down, %v", n, err)
	}
	p.Up()
	if err := far.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(far, got); err != nil || string(got) != "while down" {
		t.Errorf("%q came after the link was up again, %v", got, err)
	}
}

func TestPathWithAnotherAddress(t *testing.T) {
	p := newPath(t, Shape{}, "")
	connect(t, p)
	if err := p.Near().SetAddr(netip.MustParseAddr("10.213.0.77")); err != nil {
		t.Fatal(err)
	}
	near, far := connect(t, p)
	if host, _, _ := net.SplitHostPort(far.RemoteAddr().String()); host != "10.213.0.77" {
		t.Errorf("the far end sees %v", far.RemoteAddr())
	}
	arrives(t, near, far, []byte("from there"))
}

func TestPathRunsCommandsAtItsEnds(t *testing.T) {
	p := newPath(t, Shape{}, "")
	cmd := exec.Command("cat", "/proc/net/dev")
	var out strings.Builder
	cmd.Stdout = &out
	if err := p.Near().Start(cmd); err != nil {
		t.Skip(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), deviceName) {
		t.Errorf("the command sees these devices, %v:\n%s", err, out.String())
	}
}

func TestPathWithCongestionControl(t *testing.T) {
	known, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		t.Skip(err)
	}
	for _, name := range strings.Fields(string(known)) {
		near, far := connect(t, newPath(t, Shape{}, name))
		for _, conn := range []net.Conn{near, far} {
			if got := congestionOf(t, conn); got != name {
				t.Errorf("%s at %v, want %s", got, conn.LocalAddr(), name)
			}
		}
	}
	if _, err := New(Shape{}, "none-such"); err == nil {
		t.Error("there is a path with a congestion control that nobody knows")
	}
}

func congestionOf(t *testing.T, conn net.Conn) (name string) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(name, "\x00")
}

func BenchmarkPath(b *testing.B) {
	near, far := connect(b, newPath(b, Shape{RoundTrip: time.Millisecond}, ""))
	chunk := make([]byte, 1<<20)
	go func() {
		for {
			if _, err := near.Write(chunk); err != nil {
				return
			}
		}
	}()
	b.SetBytes(int64(len(chunk)))
	into := make([]byte, len(chunk))
	for b.Loop() {
		if _, err := io.ReadFull(far, into); err != nil {
			b.Fatal(err)
		}
	}
}
