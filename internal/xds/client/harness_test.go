// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// thing is a resource of a type that only tests have: field 1 is the name, field 2 the value.
func thing(url, name, value string) *anypb.Any {
	b := protowire.AppendTag(nil, 1, protowire.BytesType)
	b = protowire.AppendString(b, name)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return &anypb.Any{TypeUrl: url, Value: protowire.AppendString(b, value)}
}

func newType(url string, whole bool, decoded *int) *Type[string] {
	return &Type[string]{URL: url, Name: "Thing", Whole: whole, Decode: func(_ *bootstrap.Server, raw []byte) (string, error) {
		if decoded != nil {
			*decoded++
		}
		_, _, n := protowire.ConsumeTag(raw)
		_, m := protowire.ConsumeBytes(raw[n:])
		_, _, k := protowire.ConsumeTag(raw[n+m:])
		v, _ := protowire.ConsumeString(raw[n+m+k:])
		if v == "bad" {
			return "", errors.New("field x: bad")
		}
		return v, nil
	}}
}

// held returns a type whose Decode, at the value "held", sends to reading, and then waits for goOn.
func held(url string, whole bool) (typ *Type[string], reading, goOn chan struct{}) {
	reading, goOn = make(chan struct{}), make(chan struct{})
	typ = newType(url, whole, nil)
	decode := typ.Decode
	typ.Decode = func(from *bootstrap.Server, raw []byte) (string, error) {
		v, err := decode(from, raw)
		if v == "held" {
			reading <- struct{}{}
			<-goOn
		}
		return v, err
	}
	return typ, reading, goOn
}

const (
	partURL  = "type.test/Part"
	wholeURL = "type.test/Whole"
)

var (
	parts  = newType(partURL, false, nil)
	wholes = newType(wholeURL, true, nil)
)

// plane is a control plane of a test.
type plane struct {
	t       *testing.T
	mu      sync.Mutex
	down    bool
	dials   int
	closed  int
	streams chan *planeStream                   // ADS
	loads   chan *planeStream                   // LRS
	hold    func(*discoveryv3.DiscoveryRequest) // if not nil, it is called before a request arrives
}

func newPlane(t *testing.T) *plane {
	return &plane{t: t, streams: make(chan *planeStream, 16), loads: make(chan *planeStream, 16)}
}

func (p *plane) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *plane) NewStream(ctx context.Context, method string) (Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return nil, errors.New("connection refused")
	}
	s := &planeStream{t: p.t, plane: p, ctx: ctx, requests: make(chan proto.Message, 100), responses: make(chan proto.Message, 100), end: make(chan struct{})}
	if method == adsMethod {
		p.streams <- s
	} else {
		p.loads <- s
	}
	return s, nil
}

func (p *plane) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
}

// onRequest sets hold.
func (p *plane) onRequest(hold func(*discoveryv3.DiscoveryRequest)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = hold
}

// next waits for the client's next stream.
func (p *plane) next() *planeStream {
	p.t.Helper()
	synctest.Wait()
	select {
	case s := <-p.streams:
		return s
	default:
		p.t.Fatal("no stream")
		return nil
	}
}

func (p *plane) none() {
	p.t.Helper()
	synctest.Wait()
	if len(p.streams) > 0 {
		p.t.Error("a stream that nobody needs")
	}
}

// planeStream is the control plane's end of a stream.
type planeStream struct {
	t         *testing.T
	plane     *plane
	ctx       context.Context
	requests  chan proto.Message
	responses chan proto.Message
	end       chan struct{}
}

func (s *planeStream) Send(m proto.Message) error {
	s.plane.mu.Lock()
	hold := s.plane.hold
	s.plane.mu.Unlock()
	if r, ok := m.(*discoveryv3.DiscoveryRequest); ok && hold != nil {
		hold(r)
	}
	select {
	case <-s.ctx.Done():
		return s.ctx.Err()
	case <-s.end:
		return io.EOF
	case s.requests <- proto.Clone(m):
		return nil
	}
}

func (s *planeStream) Recv(m proto.Message) error {
	select {
	case <-s.ctx.Done():
		return s.ctx.Err()
	case <-s.end:
		return io.EOF
	case r := <-s.responses:
		proto.Merge(m, r)
		return nil
	}
}

// want checks the next request.
func (s *planeStream) want(url, version, nonce string, names ...string) *discoveryv3.DiscoveryRequest {
	s.t.Helper()
	synctest.Wait()
	select {
	case m := <-s.requests:
		r := m.(*discoveryv3.DiscoveryRequest)
		got := fmt.Sprintf("%s %q %q %v", r.TypeUrl, r.VersionInfo, r.ResponseNonce, r.ResourceNames)
		if want := fmt.Sprintf("%s %q %q %v", url, version, nonce, names); got != want {
			s.t.Errorf("request %s\n\twant    %s", got, want)
		}
		return r
	default:
		s.t.Fatalf("no request; want one for %s %v", url, names)
		return nil
	}
}

// drain drops the requests that have arrived.
func (s *planeStream) drain() {
	synctest.Wait()
	for len(s.requests) > 0 {
		<-s.requests
	}
}

// quiet checks that nothing was asked for.
func (s *planeStream) quiet() {
	s.t.Helper()
	synctest.Wait()
	if len(s.requests) > 0 {
		s.t.Errorf("request %v", <-s.requests)
	}
}

// send answers; values are "name=value".
func (s *planeStream) send(url, version, nonce string, values ...string) {
	r := &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: version, Nonce: nonce}
	for _, v := range values {
		name, value, _ := strings.Cut(v, "=")
		r.Resources = append(r.Resources, thing(url, name, value))
	}
	s.responses <- r
}

func (s *planeStream) load() *lrsv3.LoadStatsRequest {
	s.t.Helper()
	synctest.Wait()
	select {
	case m := <-s.requests:
		return m.(*lrsv3.LoadStatsRequest)
	default:
		s.t.Fatal("no report")
		return nil
	}
}

// seen is a watcher that keeps what it hears.
type seen struct {
	t      *testing.T
	mu     sync.Mutex
	events []string
	hook   func()
}

func (w *seen) add(e string) {
	w.mu.Lock()
	w.events = append(w.events, e)
	hook := w.hook
	w.mu.Unlock()
	if hook != nil {
		hook()
	}
}

func (w *seen) Changed(v string, err error) {
	switch {
	case err == nil:
		w.add(v)
	case IsDoesNotExist(err):
		w.add("none")
	default:
		w.add("error " + err.Error())
	}
}

func (w *seen) Ambient(err error) {
	if err == nil {
		w.add("ambient over")
		return
	}
	w.add("ambient " + err.Error())
}

// want checks what was heard since the last time: each event begins with one of the texts.
func (w *seen) want(events ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	ok := len(events) == len(w.events)
	for i := 0; ok && i < len(events); i++ {
		ok = strings.HasPrefix(w.events[i], events[i])
	}
	if !ok {
		w.t.Errorf("heard %q\n\twant  %q", w.events, events)
	}
	w.events = nil
}

// counted is a Metrics.
type counted struct {
	mu   sync.Mutex
	m    map[string]int
	hook func() // if not nil, it is called first
}

func (c *counted) Updates(server, url string, valid, invalid int) {
	if c.hook != nil {
		c.hook()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[server+" "+url+" valid"] += valid
	c.m[server+" "+url+" invalid"] += invalid
}

func (c *counted) ServerFailure(server string) {
	if c.hook != nil {
		c.hook()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[server+" failure"]++
}

// world is a client and its control planes.
type world struct {
	*Client
	t       *testing.T
	planes  map[string]*plane
	metrics *counted
}

func serverText(name, more string) string {
	return `{"server_uri":"` + name + `","channel_creds":[{"type":"insecure"}]` + more + `}`
}

// inWorld runs f in a bubble, with a client for the bootstrap and planes for its servers.
func inWorld(t *testing.T, bootstrapJSON string, config Config, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := bootstrap.Parse([]byte(bootstrapJSON), bootstrap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, planes: make(map[string]*plane), metrics: &counted{m: make(map[string]int)}}
		for _, s := range b.AllServers() {
			w.planes[s.URI] = newPlane(t)
		}
		config.Bootstrap, config.Metrics = b, w.metrics
		config.Dial = func(s *bootstrap.Server) (Transport, error) {
			p := w.planes[s.URI]
			p.mu.Lock()
			defer p.mu.Unlock()
			p.dials++
			return p, nil
		}
		config.Backoff = func(failures int) time.Duration { return time.Second << min(failures, 6) }
		w.Client = New(config)
		f(w)
		w.Close()
		for name, p := range w.planes {
			if p.dials != p.closed {
				t.Errorf("%s: %d connections, %d closed", name, p.dials, p.closed)
			}
		}
	})
}

func one(more string) string { return `{"xds_servers":[` + serverText("p", more) + `]}` }

// two has servers p and q; q is the fallback.
func two() string {
	return `{"xds_servers":[` + serverText("p", "") + `,` + serverText("q", "") + `]}`
}

func (w *world) watch(t *Type[string], name string) (*seen, func()) {
	s := &seen{t: w.t}
	return s, Watch(w.Client, t, name, s)
}
