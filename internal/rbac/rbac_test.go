// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/rbac"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// rpc is a request in a test's words.
type rpc struct {
	method string // "/a.B/C" unless it is set
	md     metadata.MD
	from   net.Addr
	at     net.Addr
	auth   credentials.AuthInfo
}

func (q rpc) request(t *testing.T) *rbac.Request {
	t.Helper()
	ctx := metadata.NewIncomingContext(t.Context(), q.md)
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: q.from, LocalAddr: q.at, AuthInfo: q.auth})
	if q.method == "" {
		q.method = "/a.B/C"
	}
	r, err := rbac.NewRequest(ctx, q.method)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tlsOf(certs ...*x509.Certificate) credentials.TLSInfo {
	return credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: certs}}
}

func certOf(subject string, dns []string, uris ...string) *x509.Certificate {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: subject}, DNSNames: dns}
	for _, u := range uris {
		parsed, err := url.Parse(u)
		if err != nil {
			panic(err)
		}
		c.URIs = append(c.URIs, parsed)
	}
	return c
}

func tcp(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }

func TestMatchers(t *testing.T) {
	yes, no := rbac.Always(), rbac.Never()
	names := func(s string) rbac.Matcher { return rbac.Principal(rbac.Exact(s)) }
	ten := netip.MustParsePrefix("10.1.2.3/8")
	for _, tt := range []struct {
		name string
		m    rbac.Matcher
		rpc  rpc
		want bool
	}{
		{"always", yes, rpc{}, true},
		{"never", no, rpc{}, false},
		{"all of none", rbac.AllOf(), rpc{}, true},
		{"all of both", rbac.AllOf(yes, yes), rpc{}, true},
		{"all of one", rbac.AllOf(yes, no), rpc{}, false},
		{"any of none", rbac.AnyOf(), rpc{}, false},
		{"any of one", rbac.AnyOf(no, yes), rpc{}, true},
		{"not", rbac.Not(no), rpc{}, true},
		{"path", rbac.Path(rbac.Prefix("/a.B/")), rpc{}, true},
		{"another path", rbac.Path(rbac.Prefix("/a.B/")), rpc{method: "/a.BB/C"}, false},

		{"TLS without certificate", rbac.TLS(), rpc{auth: tlsOf()}, true},
		{"no TLS", rbac.TLS(), rpc{}, false},
		{"no TLS has no name", names(""), rpc{}, false},
		{"no certificate", names(""), rpc{auth: tlsOf()}, true},
		{"no certificate, a name", names("a"), rpc{auth: tlsOf()}, false},
		{"second URI", names("b:2"), rpc{auth: tlsOf(certOf("", nil, "a:1", "b:2"))}, true},
		{"DNS name beside URIs", names("d"), rpc{auth: tlsOf(certOf("", []string{"d"}, "a:1"))}, false},
		{"DNS name", names("d"), rpc{auth: tlsOf(certOf("s", []string{"c", "d"}))}, true},
		{"subject beside DNS name", names("CN=s"), rpc{auth: tlsOf(certOf("s", []string{"c"}))}, false},
		{"subject", names("CN=s"), rpc{auth: tlsOf(certOf("s", nil))}, true},
		{"the issuer's name", names("CN=s"), rpc{auth: tlsOf(certOf("t", nil), certOf("s", nil))}, false},

		{"source", rbac.Source(ten), rpc{from: tcp("10.9.9.9:1")}, true},
		{"another source", rbac.Source(ten), rpc{from: tcp("11.9.9.9:1")}, false},
		{"source as IPv6", rbac.Source(ten), rpc{from: tcp("[::ffff:10.9.9.9]:1")}, true},
		{"source with zone", rbac.Source(netip.MustParsePrefix("fe80::/10")), rpc{from: tcp("[fe80::1%eth0]:1")}, true},
		{"source of another type", rbac.Source(ten), rpc{from: named("10.0.0.1:5")}, true},
		{"source without address", rbac.Source(netip.MustParsePrefix("0.0.0.0/0")), rpc{from: &net.UnixAddr{Name: "@"}}, false},
		{"no source", rbac.Source(netip.MustParsePrefix("0.0.0.0/0")), rpc{}, false},
		{"destination", rbac.Destination(ten), rpc{at: tcp("10.0.0.0:1")}, true},
		{"destination's port", rbac.DestinationPort(80, 81), rpc{at: tcp("10.0.0.0:80")}, true},
		{"behind the range", rbac.DestinationPort(80, 81), rpc{at: tcp("10.0.0.0:81")}, false},
		{"before the range", rbac.DestinationPort(80, 81), rpc{at: tcp("10.0.0.0:79")}, false},
		{"no port", rbac.DestinationPort(0, 81), rpc{at: &net.UnixAddr{}}, false},
	} {
		if got := tt.m.Match(tt.rpc.request(t)); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// named is an address of a connection that somebody else made.
type named string

func (n named) Network() string { return "named" }
func (n named) String() string  { return string(n) }

func TestText(t *testing.T) {
	regex := func(s string) rbac.Text {
		x, err := rbac.Regex(s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, tt := range []struct {
		name    string
		text    rbac.Text
		yes, no []string
	}{
		{"zero", rbac.Text{}, []string{""}, []string{"a"}},
		{"exact", rbac.Exact("aB"), []string{"aB"}, []string{"ab", "aBc", ""}},
		{"exact, folded", rbac.Exact("aB").IgnoringCase(), []string{"aB", "AB", "ab"}, []string{"abc", "a\u212a"}},
		{"folded beyond ASCII", rbac.Exact("k\xff").IgnoringCase(), []string{"K\xff"}, []string{"\u212a\xff", "k\xfe"}},
		{"prefix", rbac.Prefix("a"), []string{"a", "ab"}, []string{"ba", "A", ""}},
		{"suffix", rbac.Suffix("a"), []string{"a", "ba"}, []string{"ab", "A", ""}},
		{"contains", rbac.Contains("a"), []string{"a", "bab"}, []string{"", "b"}},
		{"contains, folded", rbac.Contains("A").IgnoringCase(), []string{"a", "BAB"}, []string{"", "b"}},
		{"regex", regex("a|b+"), []string{"a", "b", "bb"}, []string{"", "ab", "a\n", "xa"}},
		{"regex, folded all the same", regex("[A-B]").IgnoringCase(), []string{"A"}, []string{"a"}},
		{"not empty", rbac.NonEmpty(), []string{"a"}, []string{""}},
	} {
		for _, s := range tt.yes {
			if !tt.text.Match(s) {
				t.Errorf("%s does not match %q", tt.name, s)
			}
		}
		for _, s := range tt.no {
			if tt.text.Match(s) {
				t.Errorf("%s matches %q", tt.name, s)
			}
		}
	}
	for _, bad := range []string{"(", "a)|(b", `\`} {
		if _, err := rbac.Regex(bad); err == nil {
			t.Errorf("Regex(%q) is no error", bad)
		}
	}
}

func TestHeader(t *testing.T) {
	md := metadata.MD{
		"one": {"1"}, "two": {"a", "b"}, "empty": {""}, "te": {"trailers"}, ":authority": {"host.test"},
		"content-type": {"application/grpc+proto"}, "x-bin": {"\x00\x01", "\xff"},
	}
	text := func(s string) *rbac.Text { x := rbac.Exact(s); return &x }
	is := func(b bool) *bool { return &b }
	for _, tt := range []struct {
		name string
		h    rbac.HeaderMatch
		want bool
	}{
		{"exact", rbac.HeaderMatch{Name: "One", Value: text("1")}, true},
		{"joined", rbac.HeaderMatch{Name: "two", Value: text("a,b")}, true},
		{"not one of several", rbac.HeaderMatch{Name: "two", Value: text("a")}, false},
		{"empty", rbac.HeaderMatch{Name: "empty", Value: text("")}, true},
		{"absent is not empty", rbac.HeaderMatch{Name: "none", Value: text("")}, false},
		{"inverted", rbac.HeaderMatch{Name: "one", Value: text("2"), Invert: true}, true},
		{"inverted, equal", rbac.HeaderMatch{Name: "one", Value: text("1"), Invert: true}, false},
		{"absent, inverted", rbac.HeaderMatch{Name: "none", Value: text("2"), Invert: true}, false},
		{"present", rbac.HeaderMatch{Name: "one", Present: is(true)}, true},
		{"present, absent", rbac.HeaderMatch{Name: "none", Present: is(true)}, false},
		{"absent, wanted", rbac.HeaderMatch{Name: "none", Present: is(false)}, true},
		{"present, inverted, absent", rbac.HeaderMatch{Name: "none", Present: is(true), Invert: true}, true},
		{"present, inverted", rbac.HeaderMatch{Name: "one", Present: is(true), Invert: true}, false},
		{"in range", rbac.HeaderMatch{Name: "one", Range: &rbac.Range{Start: 1, End: 2}}, true},
		{"behind range", rbac.HeaderMatch{Name: "one", Range: &rbac.Range{Start: 0, End: 1}}, false},
		{"no number", rbac.HeaderMatch{Name: "two", Range: &rbac.Range{Start: -9, End: 9}}, false},
		{"no number, inverted", rbac.HeaderMatch{Name: "two", Range: &rbac.Range{Start: -9, End: 9}, Invert: true}, true},
		{"path", rbac.HeaderMatch{Name: ":path", Value: text("/a.B/C")}, true},
		{"method", rbac.HeaderMatch{Name: ":method", Value: text("POST")}, true},
		{"authority", rbac.HeaderMatch{Name: ":authority", Value: text("host.test")}, true},
		{"host", rbac.HeaderMatch{Name: "Host", Value: text("host.test")}, true},
		{"te", rbac.HeaderMatch{Name: "TE", Present: is(true)}, false},
		{"content type", rbac.HeaderMatch{Name: "content-type", Value: text("application/grpc+proto")}, true},
		{"binary, as it is", rbac.HeaderMatch{Name: "x-bin", Value: text("\x00\x01,\xff")}, true},
		{"binary, on the wire", rbac.HeaderMatch{Name: "X-Bin", Value: text("AAE,/w"), Encoded: true}, true},
		{"no binary", rbac.HeaderMatch{Name: "one", Value: text("1"), Encoded: true}, true},
	} {
		if got := rbac.Header(tt.h).Match((rpc{md: md}).request(t)); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// recorder is a logger that keeps what it is told.
type recorder struct{ events []audit.Event }

func (r *recorder) Log(e *audit.Event) {
	r.events = append(r.events, *e)
	*e = audit.Event{} // it is the logger's
}

// TestEngine runs gRFC A59's table: what either action makes of rules, and what is audited.
func TestEngine(t *testing.T) {
	id, err := url.Parse("spiffe://td/path")
	if err != nil {
		t.Fatal(err)
	}
	rule := func(name string, m rbac.Matcher) rbac.Rule {
		return rbac.Rule{Name: name, Permission: m, Principal: rbac.Always()}
	}
	hits := []rbac.Rule{rule("miss", rbac.Never()), rule("hit", rbac.Always()), rule("second", rbac.Always())}
	half := []rbac.Rule{{Name: "half", Permission: rbac.Always(), Principal: rbac.Never()}}
	for _, tt := range []struct {
		name            string
		action          rbac.Action
		rules           []rbac.Rule
		onDeny, onAllow bool
		want, audited   bool
		matched         string
	}{
		{"allow, hit", rbac.Allow, hits, true, false, true, false, "hit"},
		{"allow, hit, on allow", rbac.Allow, hits, false, true, true, true, "hit"},
		{"allow, miss", rbac.Allow, half, true, false, false, true, ""},
		{"allow, miss, on allow", rbac.Allow, half, false, true, false, false, ""},
		{"allow, no rules", rbac.Allow, nil, true, true, false, true, ""},
		{"deny, hit", rbac.Deny, hits, true, false, false, true, "hit"},
		{"deny, miss", rbac.Deny, half, true, false, true, false, ""},
		{"deny, miss, on allow", rbac.Deny, half, false, true, true, true, ""},
		{"deny, hit, never", rbac.Deny, hits, false, false, false, false, ""},
	} {
		var a, b recorder
		e := &rbac.Engine{Action: tt.action, Rules: tt.rules, Audit: rbac.Audit{
			PolicyName: "p", OnDeny: tt.onDeny, OnAllow: tt.onAllow, Loggers: []audit.Logger{&a, &b},
		}}
		r := (rpc{auth: credentials.TLSInfo{SPIFFEID: id}}).request(t)
		if got := e.Authorize(r); got != tt.want {
			t.Errorf("%s: authorized %t, want %t", tt.name, got, tt.want)
		}
		var want []audit.Event
		if tt.audited {
			want = []audit.Event{{
				FullMethodName: "/a.B/C", Principal: "spiffe://td/path", PolicyName: "p",
				MatchedRule: tt.matched, Authorized: tt.want,
			}}
		}
		if !reflect.DeepEqual(a.events, want) || !reflect.DeepEqual(b.events, want) {
			t.Errorf("%s: audited %v and %v, want %v", tt.name, a.events, b.events, want)
		}
	}
}

func TestChain(t *testing.T) {
	allow := &rbac.Engine{Rules: []rbac.Rule{{Permission: rbac.Always(), Principal: rbac.Always()}}}
	refuse := &rbac.Engine{}
	unasked := &rbac.Engine{Rules: []rbac.Rule{{Permission: failing{t}, Principal: rbac.Always()}}}
	for _, tt := range []struct {
		chain rbac.Chain
		want  bool
	}{
		{nil, true},
		{rbac.Chain{allow, allow}, true},
		{rbac.Chain{allow, refuse, unasked}, false},
	} {
		if got := tt.chain.Authorize((rpc{}).request(t)); got != tt.want {
			t.Errorf("chain of %d: %t, want %t", len(tt.chain), got, tt.want)
		}
	}
}

type failing struct{ t *testing.T }

func (f failing) Match(*rbac.Request) bool {
	f.t.Error("an engine behind one that refused was asked")
	return true
}

func TestNewRequestNeedsAnRPC(t *testing.T) {
	ctx := t.Context()
	withMD := metadata.NewIncomingContext(ctx, nil)
	whole := peer.NewContext(withMD, &peer.Peer{})
	for _, tt := range []struct {
		ctx          context.Context
		method, want string
	}{
		{ctx, "/a.B/C", "missing metadata"},
		{withMD, "/a.B/C", "missing peer"},
		{whole, "", "missing method"},
	} {
		if _, err := rbac.NewRequest(tt.ctx, tt.method); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one with %q", err, tt.want)
		}
	}
	if _, err := rbac.NewRequest(whole, "/a.B/C"); err != nil {
		t.Error(err)
	}
}

type builder struct{ recorder *recorder }

func (builder) Name() string { return "rbac_test" }

func (builder) ParseLoggerConfig(c json.RawMessage) (audit.LoggerConfig, error) {
	if string(c) != "{}" {
		return nil, errors.New("too much")
	}
	return nil, nil
}

func (b builder) Build(audit.LoggerConfig) audit.Logger { return b.recorder }

func TestParseLoggers(t *testing.T) {
	audit.RegisterLoggerBuilder(builder{&recorder{}})
	good := rbac.LoggerConfig{Name: "rbac_test", Config: json.RawMessage("{}")}
	for _, tt := range []struct {
		name    string
		configs []rbac.LoggerConfig
		want    int
		err     string
	}{
		{"none", nil, 0, ""},
		{"two", []rbac.LoggerConfig{good, good}, 2, ""},
		{"unknown", []rbac.LoggerConfig{good, {Name: "nobody"}}, 0, "no builder registered for nobody"},
		{"unknown but optional", []rbac.LoggerConfig{good, {Name: "nobody", Optional: true}}, 1, ""},
		{"wrong though optional", []rbac.LoggerConfig{{Name: "rbac_test", Optional: true}}, 0, "too much"},
	} {
		loggers, err := rbac.ParseLoggers(tt.configs)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.err)
			}
			continue
		}
		if built := loggers.Build(); err != nil || len(built) != tt.want {
			t.Errorf("%s: %d loggers, %v; want %d", tt.name, len(built), err, tt.want)
		}
	}
}

// A header of many values is found and joined once, however many rules ask for it, as it was sent and as it
// is on the wire; so is each of many headers.
func TestHeadersAreJoinedOnce(t *testing.T) {
	md := metadata.MD{"x": {"1", "2"}, "b-bin": {"\x00", "\xff"}}
	var rules []rbac.Matcher
	want := func(name, value string, encoded bool) {
		text := rbac.Exact(value)
		rules = append(rules, rbac.Header(rbac.HeaderMatch{Name: name, Value: &text, Encoded: encoded}))
	}
	for i := range 10 {
		name := fmt.Sprint("h", i)
		md[name] = []string{name, name}
		want(name, name+","+name, false)
	}
	want("x", "1,2", false)
	want("x", "1,2", true) // it is no binary one
	want("b-bin", "\x00,\xff", false)
	want("b-bin", "AA,/w", true)
	r := (rpc{md: md, from: tcp("10.0.0.1:1")}).request(t)
	all := rbac.AllOf(rules...)
	if !all.Match(r) {
		t.Fatal("a header is not what was sent")
	}
	if n := testing.AllocsPerRun(100, func() { all.Match(r) }); n != 0 {
		t.Errorf("%v allocations to ask again", n)
	}
	absent := true
	if !rbac.Header(rbac.HeaderMatch{Name: "not-there", Present: &absent, Invert: true}).Match(r) {
		t.Error("a header is there that was not sent")
	}
}

// A decision by path and by one header costs no more than finding the header.
func TestDecisionAllocatesLittle(t *testing.T) {
	one := rbac.Exact("1")
	e := &rbac.Engine{Rules: []rbac.Rule{{
		Permission: rbac.AllOf(rbac.Path(rbac.Prefix("/a.B/")), rbac.Header(rbac.HeaderMatch{Name: "one", Value: &one})),
		Principal:  rbac.Source(netip.MustParsePrefix("10.0.0.0/8")),
	}}}
	r := (rpc{md: metadata.MD{"one": {"1"}}, from: tcp("10.0.0.1:1")}).request(t)
	if n := testing.AllocsPerRun(100, func() {
		if !e.Authorize(r) {
			t.Error("refused")
		}
	}); n > 1 {
		t.Errorf("%v allocations a decision, want 1 at most", n)
	}
}
