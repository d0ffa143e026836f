// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// watched is a process with a server, a channel, and a stream of it that stays open.
func watched(t *testing.T) *Page {
	var control servercontrol.Control
	server := grpc.NewServer(control.Option())
	healthpb.RegisterHealthServer(server, health.NewServer())
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	t.Cleanup(func() { server.Stop(); <-served })
	cc, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stream, err := healthpb.NewHealthClient(cc).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	return &Page{Servers: []*servercontrol.Control{&control}}
}

// fetch fetches a page, which has to be there and of a type.
func fetch(t *testing.T, p *Page, query, accept, want string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/debug/grpc"+query, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want {
		t.Fatalf("%s: %d, %s: %s", query, w.Code, got, w.Body)
	}
	return w
}

// get fetches a page as JSON, by the header.
func get(t *testing.T, p *Page, query string) View { return getBy(t, p, query, "application/json") }

func getBy(t *testing.T, p *Page, query, accept string) View {
	t.Helper()
	w := fetch(t, p, query, accept, "application/json")
	var v View
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// getHTML fetches a page as a browser does.
func getHTML(t *testing.T, p *Page, query string) string {
	t.Helper()
	w := fetch(t, p, query, "text/html,application/xhtml+xml,application/json;q=0.9", "text/html; charset=utf-8")
	s := w.Body.String()
	if !strings.HasSuffix(strings.TrimSpace(s), "</html>") {
		t.Errorf("%s: the page breaks off: %s", query, s[max(0, len(s)-300):])
	}
	if strings.Contains(s, "<script") || strings.Contains(s, "http://") || strings.Contains(s, "https://") {
		t.Errorf("%s: something is from elsewhere: %s", query, s)
	}
	return s
}

// find returns the last node of a list whose name contains a text.
func find(t *testing.T, list []Node, name string) Node {
	t.Helper()
	for i := len(list) - 1; i >= 0; i-- {
		if strings.Contains(list[i].Name, name) {
			return list[i]
		}
	}
	t.Fatalf("no %q among %+v", name, list)
	return Node{}
}

func TestFromProcessToConnection(t *testing.T) {
	p := watched(t)
	v := get(t, p, "")
	if v.Process == nil || v.Process.Connections < 2 || v.Process.Version != grpc.Version {
		t.Errorf("the process: %+v", v.Process)
	}
	if len(v.RPCs) != 1 || v.RPCs[0].Method != "/grpc.health.v1.Health/Watch" || v.RPCs[0].Peer == "" || v.RPCs[0].Began.IsZero() {
		t.Errorf("RPCs: %+v", v.RPCs)
	}
	server := v.Servers[len(v.Servers)-1]
	if server.Started != 1 || len(server.Listeners) != 1 || server.State != "" {
		t.Errorf("the server: %+v", server)
	}
	channel := find(t, v.Channels, "passthrough:///127.0.0.1")
	if channel.State != "READY" || channel.Started != 1 {
		t.Errorf("the channel: %+v", channel)
	}

	v = get(t, p, fmt.Sprintf("?server=%d", server.ID))
	if len(v.Connections) != 1 {
		t.Fatalf("the server's page: %+v", v)
	}
	checkConnection(t, v.Connections[0])
	v = get(t, p, fmt.Sprintf("?channel=%d", channel.ID))
	if len(v.Channels) != 1 || len(v.Node.Trace) == 0 {
		t.Fatalf("the channel's page: %+v", v)
	}
	v = get(t, p, fmt.Sprintf("?subchannel=%d", v.Channels[0].ID))
	if len(v.Connections) != 1 {
		t.Fatalf("the subchannel's page: %+v", v)
	}
	checkConnection(t, v.Connections[0])
	id := v.Connections[0].ID
	v = get(t, p, fmt.Sprintf("?socket=%d", id))
	if v.Connection == nil {
		t.Fatalf("the connection's page: %+v", v)
	}
	checkConnection(t, *v.Connection)
}

func checkConnection(t *testing.T, c Connection) {
	t.Helper()
	if c.Streams != 1 || c.StreamsStarted != 1 || c.Remote == "" || c.Local == "" ||
		time.Since(c.Created) > time.Minute || c.SendWindow == 0 || c.RecvWindow == 0 ||
		c.MessagesSent+c.MessagesReceived < 1 {
		t.Errorf("a connection: %+v", c)
	}
}

func TestHTML(t *testing.T) {
	p := watched(t)
	v := get(t, p, "")
	server := v.Servers[len(v.Servers)-1].ID
	channel := find(t, v.Channels, "passthrough:///127.0.0.1").ID
	if s := getHTML(t, p, ""); !strings.Contains(s, "/grpc.health.v1.Health/Watch") || !strings.Contains(s, fmt.Sprintf("?server=%d", server)) {
		t.Errorf("the first page: %s", s)
	}
	if s := getHTML(t, p, fmt.Sprintf("?server=%d", server)); !strings.Contains(s, `id="connections"`) {
		t.Errorf("the server's page: %s", s)
	}
	if s := getHTML(t, p, fmt.Sprintf("?channel=%d", channel)); !strings.Contains(s, "?subchannel=") || !strings.Contains(s, "Trace") {
		t.Errorf("the channel's page: %s", s)
	}
	socket := get(t, p, fmt.Sprintf("?server=%d", server)).Connections[0].ID
	if s := getHTML(t, p, fmt.Sprintf("?socket=%d", socket)); !strings.Contains(s, "may be sent") {
		t.Errorf("the connection's page: %s", s)
	}
}

// The page of a connection tells its last error and round trip, and the first one which were lost.
func TestLastErrors(t *testing.T) {
	var control servercontrol.Control
	ends := make(testservice.ConnEnds, 1)
	s := testservice.Start(t, &testservice.Functions{}, control.Option(), grpc.StatsHandler(ends))
	p := &Page{Servers: []*servercontrol.Control{&control}}
	raw := testservice.DialRaw(t, s.Addr)
	raw.Frame(testservice.FrameHeaders, 5, 1, []byte{0x82}) // a request without a path
	raw.Until(testservice.FrameRSTStream)
	servers := get(t, p, "").Servers
	query := fmt.Sprintf("?server=%d", servers[len(servers)-1].ID)
	c := get(t, p, query).Connections[0]
	if c.LastError == nil || !strings.Contains(c.LastError.Text, "PROTOCOL_ERROR") || c.LastError.Time.IsZero() || runtime.GOOS == "linux" && c.RoundTrip <= 0 {
		t.Errorf("the connection is %+v", c)
	}
	for _, query := range []string{query, fmt.Sprintf("?socket=%d", c.ID)} {
		if html := getHTML(t, p, query); !strings.Contains(html, "PROTOCOL_ERROR") {
			t.Errorf("%s does not tell: %s", query, html)
		}
	}
	raw.Frame(testservice.FrameRSTStream, 0, 0, []byte{0, 0, 0, 0}) // of no stream: it ends the connection
	testservice.Await(t, ends, "the end of the connection")
	lost := get(t, p, "").Lost
	if len(lost) != 1 || lost[0].Peer != raw.LocalAddr().String() || !strings.Contains(lost[0].Error, "PROTOCOL_ERROR") {
		t.Errorf("%+v are lost", lost)
	}
	if html := getHTML(t, p, ""); !strings.Contains(html, `id="lost"`) {
		t.Errorf("the first page: %s", html)
	}
}

// The page costs nothing while nobody looks: a call takes as many allocations as without it (the ceiling is
// that of TestUnaryAllocs of package grpc), and no goroutine is there for it, before and after a look.
func TestNobodyLooks(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{}, new(servercontrol.Control).Option())
	_, client := s.Dial(t)
	call := func() {
		if _, err := client.EmptyCall(context.Background(), &testpb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	const ceiling = 10
	if n := testing.AllocsPerRun(1000, call); n > ceiling && !raceEnabled {
		t.Errorf("a call takes %v allocations", n)
	}
	before := runtime.NumGoroutine()
	getHTML(t, &Page{}, "")
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() { // a timer's lives for a moment
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before a look, %d after it", before, runtime.NumGoroutine())
		}
	}
}

// What a peer or a program has named is text, and nothing else.
func TestNamesAreEscaped(t *testing.T) {
	n := channelz.NewNode(nil, channelz.Channel, `dns:///<script>alert("x")</script>`)
	defer n.Close()
	n.Trace(channelz.Error, `<img src=x onerror=alert(1)>`, nil)
	for _, query := range []string{"", fmt.Sprintf("?channel=%d", n.ID())} {
		if s := getHTML(t, &Page{}, query); strings.Contains(s, "<img") || !strings.Contains(s, "&lt;script&gt;") {
			t.Errorf("%s: %s", query, s)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		method, query string
		code          int
		text          string
	}{
		{http.MethodPost, "", http.StatusMethodNotAllowed, "GET or HEAD"},
		{http.MethodGet, "?server=x", http.StatusBadRequest, `server="x" is not a number`},
		{http.MethodGet, "?server=-1", http.StatusBadRequest, "is not a number"},
		{http.MethodGet, "?server=1&socket=2", http.StatusBadRequest, "server and socket are asked for at once"},
		{http.MethodGet, "?from=99999999999999999999", http.StatusBadRequest, "is not a number"},
		{http.MethodGet, "?rows=many", http.StatusBadRequest, `rows="many" is not a number`},
		{http.MethodGet, "?socket=999999999", http.StatusNotFound, "there is no socket 999999999"},
		{http.MethodGet, "?channel=999999999", http.StatusNotFound, "there is no channel 999999999"},
		{http.MethodGet, "?server=0", http.StatusNotFound, "there is no server 0"},
	} {
		w := httptest.NewRecorder()
		(&Page{}).ServeHTTP(w, httptest.NewRequest(tt.method, "/"+tt.query, nil))
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s %s: %d, %s", tt.method, tt.query, w.Code, w.Body)
		}
	}
}

// counting is a connection that counts how often it is asked.
type counting struct{ asked *atomic.Int32 }

func (c counting) ChannelzSocket() channelz.SocketData {
	c.asked.Add(1)
	return channelz.SocketData{}
}

// Of 10,000 connections a page asks those that it shows, and the pages together show each once.
func TestPages(t *testing.T) {
	const conns = 10_000
	server := channelz.NewNode(nil, channelz.Server, "")
	defer server.Close()
	var asked atomic.Int32
	for range conns {
		s := channelz.NewSocket(server, channelz.Connection, counting{&asked})
		defer s.Close()
	}
	p := &Page{}
	query := fmt.Sprintf("?server=%d", server.ID())
	getHTML(t, p, query)
	if n := asked.Load(); n != defaultRows {
		t.Errorf("a page has asked %d connections", n)
	}
	seen := make(map[int64]bool)
	for query += "&rows=1000"; query != ""; {
		v := get(t, p, query)
		if len(v.Connections) != 1000 {
			t.Fatalf("%s has %d connections", query, len(v.Connections))
		}
		for _, c := range v.Connections {
			seen[c.ID] = true
		}
		query = v.Next
	}
	if len(seen) != conns {
		t.Errorf("the pages show %d connections", len(seen))
	}
}

// The lists of servers and channels go on together, leave nothing out, and stay JSON where the query has asked for it.
func TestPagesOfChannels(t *testing.T) {
	want := make(map[int64]bool)
	for i := range 120 {
		kind := channelz.Channel
		if i%3 == 0 {
			kind = channelz.Server
		}
		n := channelz.NewNode(nil, kind, "")
		defer n.Close()
		want[n.ID()] = true
	}
	p := &Page{Rows: 7}
	for query := "?format=json"; ; {
		v := getBy(t, p, query, "*/*")
		for _, n := range append(v.Servers, v.Channels...) {
			delete(want, n.ID)
		}
		if query = v.Next; query == "" {
			break
		}
	}
	if len(want) != 0 {
		t.Errorf("no page shows %v", want)
	}
}

func TestTexts(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct{ got, want string }{
		{ageOf(now, time.Time{}), ""},
		{ageOf(now, now.Add(-1234567*time.Nanosecond)), "1.23ms"},
		{roundText(999), "999ns"},
		{roundText(12345 * time.Millisecond), "12.3s"},
		{roundText(90 * time.Minute), "1h30m0s"},
		{bytesText(0), "0 B"},
		{bytesText(1023), "1023 B"},
		{bytesText(1536), "1.5 KiB"},
		{bytesText(3 << 30), "3.0 GiB"},
		{(&Connection{Parked: true}).State(), "parked"},
		{(&Connection{Parked: true, Streams: 2}).State(), "parked, with streams"},
		{(&Connection{NotParkable: "no socket"}).State(), "active: no socket"},
		{(&Connection{}).State(), "active"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
