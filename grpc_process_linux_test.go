// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/testutils"
)

// What becomes of a process with many connections when the system has no more to give, and
// when it is replaced. Each test has a process of its own.

// lines is a log's writer that hands out its lines.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		select {
		case l <- line:
		default: // nobody cares for so many
		}
	}
	return len(p), nil
}

// warnings has the process's warnings come out of a channel.
func warnings() lines {
	l := make(lines, 1000)
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, l, l))
	return l
}

// await returns the next line with part in it.
func (l lines) await(t *testing.T, part string) {
	t.Helper()
	for late := time.After(20 * time.Second); ; {
		select {
		case line := <-l:
			if strings.Contains(line, part) {
				return
			}
		case <-late:
			t.Fatalf("no line with %q was logged", part)
		}
	}
}

// useUp opens files until the process may open no more, and returns them.
func useUp(t *testing.T) (files []*os.File) {
	t.Helper()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: 100}); err != nil {
		t.Skip(err)
	}
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return files
		}
		files = append(files, f)
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// Without descriptors for new connections a server serves the ones that it has, says what is
// wrong, looks for better times seldom, and takes connections again when they come.
func TestOutOfDescriptors(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := warnings()
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	if err := call(testContext(t), cc, "before"); err != nil {
		t.Fatal(err)
	}
	files := useUp(t)
	files[0].Close()
	began := time.Now() // before there is a connection to take
	raw, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	const looks = 5
	for range looks {
		log.await(t, "accepting failed")
	}
	// 5, 10, 20, 40 ms lie between these.
	if took := time.Since(began); took < 75*time.Millisecond {
		t.Errorf("%d looks in %v", looks, took)
	}
	if err := call(testContext(t), cc, "during"); err != nil {
		t.Error(err)
	}
	closeAll(files[1:])
	raw.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadFull(raw, make([]byte, 9)); err != nil { // the server's SETTINGS
		t.Errorf("the connection that had to wait: %v", err)
	}
}

// Where the system refuses to watch sockets (here it has no descriptor for the set),
// connections keep goroutines, one line says so, and those that come later are watched.
func TestUnwatched(t *testing.T) {
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("nothing is watched")
	}
	if !testutils.InChild(t, "") {
		return
	}
	log := warnings()
	channelz.TurnOn()
	s := serve(t, newEcho())
	files := useUp(t)
	closeAll(files[:2]) // for the two ends of a connection
	cc := newTestClient(t, "passthrough:///"+s.addr)
	if err := call(testContext(t), cc, "before"); err != nil {
		t.Fatal(err)
	}
	log.await(t, "refuses to watch")
	waitUntil(t, "both ends say why", func() bool {
		n := 0
		for why, conns := range footprint.Unparkable() {
			if strings.Contains(why, "refuses to watch") {
				n += conns
			}
		}
		return n == 2
	})
	for _, why := range notParkable() {
		if !strings.Contains(why, "refuses to watch") {
			t.Errorf("channelz says %q", why)
		}
	}
	for range 3 {
		if err := call(testContext(t), cc, "unwatched"); err != nil {
			t.Error(err)
		}
	}
	if st := park.ReadStats(); st != (park.Stats{}) {
		t.Errorf("%+v", st)
	}
	closeAll(files[2:])
	later := newTestClient(t, s.addr)
	if err := call(testContext(t), later, "later"); err != nil {
		t.Error(err)
	}
	waitUntil(t, "a connection is parked", func() bool { return park.ReadStats().Parked > 0 })
}

// Near its memory limit a process with idle connections goes on working, and stays there.
func TestMemoryLimit(t *testing.T) {
	if !testutils.InChild(t, "GOMEMLIMIT=64MiB") {
		return
	}
	s := serve(t, newEcho())
	for range 200 {
		if err := call(testContext(t), newTestClient(t, s.addr), "idle"); err != nil {
			t.Fatal(err)
		}
	}
	cc := newTestClient(t, s.addr)
	large := strings.Repeat("x", 1<<20)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range testutils.Rounds(25) {
				if err := call(testContext(t), cc, large); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	debug.FreeOSMemory()
	if rss := residentKB(t); rss > 160<<10 && !raceEnabled {
		t.Errorf("%d KB are resident", rss)
	}
}

func residentKB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// program is another process of a test: this one's program, which finds in the environment
// what it is.
type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startProgram(t *testing.T, files []*os.File, env ...string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = append(os.Environ(), env...), files, os.Stderr
	in, out := testutils.StartPiped(t, cmd)
	p := &program{cmd, in, bufio.NewScanner(out)}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return p
}

// line returns what the program says next.
func (p *program) line(t *testing.T) string {
	t.Helper()
	for p.out.Scan() {
		if said, ok := strings.CutPrefix(p.out.Text(), "> "); ok {
			return said
		}
	}
	t.Fatal("the program ended without a word")
	return ""
}

// say is a program's side of line, and untilTold waits for the end of its standard input.
func say(format string, args ...any) { fmt.Printf("> "+format+"\n", args...) }

func untilTold() { _, _ = io.Copy(io.Discard, os.Stdin) }

// answering is a service that says who it is.
func answering(name string) *echo {
	e := newEcho()
	e.unary = func(context.Context, *text) (*text, error) { return &text{Value: name}, nil }
	return e
}

// A new process takes over the listener, the old one ends gracefully, and no call fails.
func TestListenerHandedOver(t *testing.T) {
	if os.Getenv("GRPC_TEST_PART") == "new" {
		lis, err := net.FileListener(os.NewFile(3, "listener"))
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer()
		s.RegisterService(&echoDesc, answering("new"))
		go func() { untilTold(); s.Stop() }()
		say("ready")
		if err := s.Serve(lis); err != nil {
			t.Error(err)
		}
		return
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := lis.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	old := NewServer()
	old.RegisterService(&echoDesc, answering("old"))
	served := make(chan error, 1)
	go func() { served <- old.Serve(lis) }()

	cc := newTestClient(t, lis.Addr().String())
	var done atomic.Bool
	var answers [2]atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for !done.Load() {
				out := new(text)
				if err := cc.Invoke(testContext(t), unaryMethod, &text{}, out, WaitForReady(true)); err != nil {
					t.Error(err)
					return
				}
				if out.Value == "old" {
					answers[0].Add(1)
				} else {
					answers[1].Add(1)
				}
			}
		})
	}
	waitUntil(t, "the old one answers", func() bool { return answers[0].Load() > 100 })
	next := startProgram(t, []*os.File{file}, "GRPC_TEST_PART=new")
	if got := next.line(t); got != "ready" {
		t.Fatal(got)
	}
	old.GracefulStop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	waitUntil(t, "the new one answers", func() bool { return answers[1].Load() > 100 || t.Failed() })
	done.Store(true)
	callers.Wait()
	t.Logf("%d answers by the old one, %d by the new", answers[0].Load(), answers[1].Load())
}

// Servers in several processes share a port (SO_REUSEPORT), each with its part of many
// connections, all idle at once, which hold no goroutines. GRPC_TEST_CONNS says how many:
// 60000 take some minutes and a gigabyte.
func TestManyProcesses(t *testing.T) {
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("connections keep goroutines")
	}
	switch os.Getenv("GRPC_TEST_PART") {
	case "server":
		serveShared(t)
		return
	case "client":
		connectMany(t)
		return
	}
	total, processes := 400, 2
	if n, err := strconv.Atoi(os.Getenv("GRPC_TEST_CONNS")); err == nil {
		total, processes = n, max(2, (n+9999)/10_000)
	}
	hold := listenShared(t, "127.0.0.1:0") // the port stays ours; it is closed before anyone connects
	addr := hold.Addr().String()
	var servers, clients []*program
	for range processes {
		p := startProgram(t, nil, "GRPC_TEST_PART=server", "GRPC_TEST_ADDR="+addr)
		p.line(t)
		servers = append(servers, p)
	}
	hold.Close()
	for i := range processes {
		clients = append(clients, startProgram(t, nil, "GRPC_TEST_PART=client", "GRPC_TEST_ADDR="+addr,
			fmt.Sprint("GRPC_TEST_CONNS=", total/processes), fmt.Sprint("GRPC_TEST_HOST=", i+2)))
	}
	for i, p := range clients {
		t.Logf("client %d: %s", i, p.line(t))
	}
	sum := int64(0)
	for i, p := range servers {
		fmt.Fprintln(p.in, "how many?")
		said := p.line(t)
		t.Logf("server %d: %s", i, said)
		var n int64
		fmt.Sscan(said, &n)
		sum += n
	}
	if sum != int64(total/processes*processes) {
		t.Errorf("%d connections are parked by the servers, want %d", sum, total)
	}
	for _, p := range clients {
		p.in.Close()
	}
}

func listenShared(t *testing.T, addr string) net.Listener {
	t.Helper()
	lc := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) (err error) {
		cerr := rc.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		if cerr != nil {
			return cerr
		}
		return err
	}}
	lis, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return lis
}

// serveShared is one server. Asked, it waits until all its connections are parked.
func serveShared(t *testing.T) {
	s := NewServer()
	s.RegisterService(&echoDesc, newEcho())
	lis := listenShared(t, os.Getenv("GRPC_TEST_ADDR"))
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	say("ready")
	in := bufio.NewScanner(os.Stdin)
	if in.Scan() {
		open := func() int64 { s.mu.Lock(); defer s.mu.Unlock(); return int64(s.conns.len()) }
		waitUntil(t, "all are parked", func() bool { return park.ReadStats().Parked == open() })
		n := open()
		say("%d connections parked, %.1f KB resident each", n, float64(residentKB(t))/float64(max(n, 1)))
	}
	in.Scan()
	s.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// connectMany is one process of clients, from a loopback address of its own: there are not
// enough ports at one.
func connectMany(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("GRPC_TEST_CONNS"))
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0." + os.Getenv("GRPC_TEST_HOST"))}}
	dial := func(ctx context.Context, addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }
	conns := make([]*ClientConn, n)
	for i := range conns {
		cc, err := NewClient("passthrough:///"+os.Getenv("GRPC_TEST_ADDR"), WithContextDialer(dial),
			WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		if err := call(testContext(t), cc, "hello", WaitForReady(true)); err != nil {
			t.Fatal(i, err)
		}
		conns[i] = cc
	}
	waitUntil(t, "all are parked", func() bool { return park.ReadStats().Parked == int64(n) })
	say("%d connections parked, %.1f KB resident each", n, float64(residentKB(t))/float64(n))
	untilTold()
}
