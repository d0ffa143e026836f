// SPDX-License-Identifier: Apache-2.0

package filters

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	gcpauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3"
	statefulv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3" // in texts
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// message makes one of its text form.
func message(t testing.TB, m proto.Message, text string) httpfilter.Message {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return httpfilter.Message{Type: string(m.ProtoReflect().Descriptor().FullName()), Raw: raw}
}

func TestA83Config(t *testing.T) {
	parse := func(text string) (int, error) {
		c, err := GCPAuthn{}.Parse(message(t, &gcpauthnv3.GcpAuthnFilterConfig{}, text))
		if err != nil {
			return 0, err
		}
		return c.(*GCPAuthnConfig).CacheSize, nil
	}
	for text, want := range map[string]int{
		``:                10,
		`cache_config {}`: 10,
		`cache_config { cache_size { value: 3 } }`:                    3,
		`cache_config { cache_size { value: 18446744073709551615 } }`: 1<<31 - 1,
	} {
		if got, err := parse(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	if _, err := parse(`cache_config { cache_size {} }`); err == nil {
		t.Error("a cache of size 0 is accepted")
	}
	if _, err := (GCPAuthn{}).ParseOverride(message(t, &gcpauthnv3.GcpAuthnFilterConfig{}, `cache_config { cache_size {} }`)); err == nil {
		t.Error("an override is not validated")
	}
}

// name is the credentials of an audience.
type name string

func (name) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return nil, nil
}
func (name) RequireTransportSecurity() bool { return true }

var errNoCreds = errors.New("no credentials")

func fakeCreds(_ context.Context, audience string) (credentials.PerRPCCredentials, error) {
	if audience == "broken" {
		return nil, errNoCreds
	}
	return name(audience), nil
}

func TestA83Begin(t *testing.T) {
	a := &authn{name: "authn", tokens: newTokens(fakeCreds)}
	with := func(md resource.Metadata) *call.Info {
		return &call.Info{Cluster: "c", Resource: &resource.Cluster{Metadata: md}}
	}
	for _, tt := range []struct {
		name string
		info *call.Info
		want credentials.PerRPCCredentials
		code codes.Code
	}{
		{"no xDS", nil, nil, codes.OK},
		{"a plugin chooses", &call.Info{}, nil, codes.OK},
		{"no cluster", &call.Info{Cluster: "c"}, nil, codes.Unavailable},
		{"no metadata", with(nil), nil, codes.OK},
		{"other metadata", with(resource.Metadata{"other": resource.Audience("x")}), nil, codes.OK},
		{"other type", with(resource.Metadata{"authn": resource.Struct("{}")}), nil, codes.Unavailable},
		{"audience", with(resource.Metadata{"authn": resource.Audience("x")}), name("x"), codes.OK},
		{"no credentials", with(resource.Metadata{"authn": resource.Audience("broken")}), nil, codes.Unavailable},
	} {
		ctx := t.Context()
		if tt.info != nil {
			ctx = call.With(ctx, tt.info)
		}
		passed := false
		_, err := a.Begin(ctx, rpcconfig.RPC{}, func(ctx context.Context) (rpcconfig.Stream, error) {
			passed = true
			if got := rpcconfig.CredentialsOf(ctx); got != tt.want {
				t.Errorf("%s: %v", tt.name, got)
			}
			return nil, nil
		})
		if status.Code(err) != tt.code || passed != (tt.code == codes.OK) {
			t.Errorf("%s: %v, %t", tt.name, err, passed)
		}
	}
}

// TestA83Cache: the credentials that were used last are kept, also from one version of the
// configuration to the next.
func TestA83Cache(t *testing.T) {
	tokens := newTokens(fakeCreds)
	tokens.resize(2)
	has := func(want ...string) {
		t.Helper()
		var got []string
		for e := tokens.recent.Front(); e != nil; e = e.Next() {
			got = append(got, e.Value.(*token).audience)
		}
		if strings.Join(got, ",") != strings.Join(want, ",") || len(tokens.byName) != len(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, audience := range []string{"a", "b", "a", "c"} {
		if c, err := tokens.of(audience); c != name(audience) || err != nil {
			t.Error(c, err)
		}
	}
	has("c", "a")
	tokens.resize(1)
	has("c")

	m := &httpfilter.Memory{}
	get := func(name string) *authn {
		return GCPAuthn{}.Client(httpfilter.Instance{Name: name, Config: &GCPAuthnConfig{CacheSize: 3}, Memory: m}).(*authn)
	}
	first := get("a")
	m.Renew()
	if second := get("a"); second.tokens != first.tokens || second.tokens.size != 3 {
		t.Error("the cache is lost")
	}
	if other := get("b"); other.tokens == first.tokens {
		t.Error("two instances share a cache")
	}
}

const cookieText = `session_state { name: "s" typed_config { [type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState] { cookie { %s } } } }`

func cookie(t testing.TB, text string) httpfilter.Message {
	return message(t, &statefulv3.StatefulSession{}, strings.Replace(cookieText, "%s", text, 1))
}

func TestA55Config(t *testing.T) {
	for text, want := range map[string]SessionConfig{
		`name: "c"`: {Cookie: "c", Path: "/"},
		`name: "c" path: "/s" ttl { seconds: 120 }`: {Cookie: "c", Path: "/s", TTL: 120e9},
	} {
		got, err := Session{}.Parse(cookie(t, text))
		if err != nil || *got.(*SessionConfig) != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `path: "/s"`, `name: "c" ttl { seconds: -1 }`, `name: "my session"`} {
		if got, err := (Session{}).Parse(cookie(t, text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if _, err := (Session{}).Parse(message(t, &statefulv3.StatefulSession{}, `session_state { name: "s" }`)); err == nil {
		t.Error("an unknown kind of state is accepted")
	}
	for _, text := range []string{``, `disabled: true`, `stateful_session {}`} {
		c, err := Session{}.ParseOverride(message(t, &statefulv3.StatefulSessionPerRoute{}, text))
		if err != nil || (Session{}).Client(httpfilter.Instance{Config: &SessionConfig{Cookie: "c"}, Override: c}) != nil {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}

// TestA55ShortTTL: an age of 0 seconds would drop the cookie.
func TestA55ShortTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]string{1: "Max-Age=1", time.Second: "Max-Age=1", 2500 * time.Millisecond: "Max-Age=2"} {
		s := session{config: &SessionConfig{Cookie: "c", Path: "/", TTL: ttl}}
		if got := s.cookie("x"); !strings.HasSuffix(got, "; "+want) {
			t.Errorf("%v: %s", ttl, got)
		}
	}
}

// choosing knows the clusters of a route.
type choosing []string

func (c *choosing) ChooseCluster(name string) bool {
	*c = append(*c, name)
	return true
}

// reply is a stream with headers.
type reply struct {
	rpcconfig.Stream
	err error
}

func (r reply) Header() (metadata.MD, error) {
	if r.err != nil {
		return nil, r.err
	}
	return metadata.MD{"a": {"b"}}, nil
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// TestCookieIsNotLogged: what is wrong with a session's cookie is logged without what it says.
func TestCookieIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	grpclog.SetLoggerV2(grpclog.NewLoggerV2WithVerbosity(&log, &log, &log, 2))
	defer grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	for _, value := range []string{"SECRET%%", encoded("SECRET"), encoded("SECRET:port;cluster:SECRET"), `"` + encoded("1.1.1.1:1,SECRET:1") + `"`} {
		log.Reset()
		if got := decode(value); got != "" {
			t.Errorf("%s: %q", value, got)
		}
		for _, secret := range []string{"SECRET", strings.Trim(value, `"`)} {
			if text := log.String(); text == "" || strings.Contains(text, secret) {
				t.Errorf("the log of %s: %q", value, text)
			}
		}
	}
}

func TestA55Cookie(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		headers      []string
		hosts        string // that the policy is told
		cluster      string // that is asked for
		set          string // what the new cookie says
	}{
		{name: "none", set: "1.2.3.4:5;cluster:c"},
		{name: "another", headers: []string{"x=y; a=b"}, set: "1.2.3.4:5;cluster:c"},
		{name: "other path", method: "/t/m", headers: []string{"c=" + encoded("1.1.1.1:1")}},
		{name: "the same", headers: []string{"c=" + encoded("1.2.3.4:5;cluster:c")}, hosts: "1.2.3.4:5", cluster: "c"},
		{name: "quoted", headers: []string{`a=b; c="` + encoded("1.2.3.4:5;cluster:c") + `"`}, hosts: "1.2.3.4:5", cluster: "c"},
		{name: "the first counts", headers: []string{"a=b", "c=" + encoded("1.2.3.4:5;cluster:c") + "; c=zzz", "c=yyy"}, hosts: "1.2.3.4:5", cluster: "c"},
		{name: "A75", headers: []string{"c=" + encoded("1.1.1.1:1,[::1]:1;cluster:d")}, hosts: "1.1.1.1:1,[::1]:1", cluster: "d", set: "1.2.3.4:5;cluster:c"},
		{name: "no cluster", headers: []string{"c=" + encoded("1.2.3.4:5")}, hosts: "1.2.3.4:5", set: "1.2.3.4:5;cluster:c"},
		{name: "not base64", headers: []string{"c=%%"}, set: "1.2.3.4:5;cluster:c"},
		{name: "no address", headers: []string{"c=" + encoded("host")}, set: "1.2.3.4:5;cluster:c"},
	} {
		a := Session{}.Client(httpfilter.Instance{Config: &SessionConfig{Cookie: "c", Path: "/s/", TTL: 120e9}})
		info := &call.Info{Cluster: "c"}
		asked := &choosing{}
		info.SetChooser(asked)
		method := tt.method
		if method == "" {
			method = "/s/m"
		}
		ctx := metadata.NewOutgoingContext(call.With(t.Context(), info), metadata.MD{"cookie": tt.headers})
		st, err := a.Begin(ctx, rpcconfig.RPC{Method: method}, func(context.Context) (rpcconfig.Stream, error) {
			info.SetPicked(&[]string{"1.2.3.4:5"})
			return reply{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		md, err := st.Header()
		if err != nil || len(md["a"]) != 1 {
			t.Errorf("%s: %v, %v", tt.name, md, err)
		}
		want := ""
		if tt.set != "" {
			want = `c="` + encoded(tt.set) + `"; Path=/s/; HttpOnly; Max-Age=120`
		}
		if got := strings.Join(md["set-cookie"], ","); got != want {
			t.Errorf("%s: cookie %q, want %q", tt.name, got, want)
		}
		if got := strings.Join(info.Hosts, ","); got != tt.hosts {
			t.Errorf("%s: hosts %q", tt.name, got)
		}
		if got := strings.Join(*asked, ","); got != strings.TrimPrefix(tt.cluster, "c") {
			t.Errorf("%s: cluster %q", tt.name, got)
		}
	}
}

func TestA55NoSession(t *testing.T) {
	a := &affinity{&SessionConfig{Cookie: "c", Path: "/"}}
	broken := errors.New("broken")
	next := func(err error) func(context.Context) (rpcconfig.Stream, error) {
		return func(context.Context) (rpcconfig.Stream, error) { return reply{err: broken}, err }
	}
	st, err := a.Begin(t.Context(), rpcconfig.RPC{Method: "/s/m"}, next(nil))
	if _, plain := st.(reply); !plain || err != nil {
		t.Errorf("without xDS: %T, %v", st, err)
	}
	ctx := call.With(t.Context(), &call.Info{Cluster: "c"})
	if _, err := a.Begin(ctx, rpcconfig.RPC{Method: "/s/m"}, next(broken)); err != broken {
		t.Error(err)
	}
	if st, err = a.Begin(ctx, rpcconfig.RPC{Method: "/s/m"}, next(nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Header(); err != broken {
		t.Error(err)
	}
}

func TestInPath(t *testing.T) {
	for _, tt := range []struct {
		request, path string
		want          bool
	}{
		{"/s/m", "/", true},
		{"/s/m", "/s", true},
		{"/s/m", "/s/", true},
		{"/s/m", "/s/m", true},
		{"/s/mm", "/s/m", false},
		{"/s/m", "/t", false},
		{"/s", "/s/m", false},
	} {
		if got := inPath(tt.request, tt.path); got != tt.want {
			t.Errorf("%q, %q: %t", tt.request, tt.path, got)
		}
	}
}

func FuzzFilters(f *testing.F) {
	f.Add(cookie(f, `name: "c"`).Raw, "c=x")
	f.Fuzz(func(t *testing.T, raw []byte, header string) {
		c, err := Session{}.Parse(httpfilter.Message{Type: sessionType, Raw: raw})
		_, _ = Session{}.ParseOverride(httpfilter.Message{Type: sessionRouteType, Raw: raw})
		_, _ = GCPAuthn{}.Parse(httpfilter.Message{Type: GCPAuthn{}.Types()[0], Raw: raw})
		if err == nil {
			(&affinity{c.(*SessionConfig)}).read(metadata.MD{"cookie": {header}})
		}
	})
}
