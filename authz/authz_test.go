// SPDX-License-Identifier: Apache-2.0

package authz_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const refused = "authz: unauthorized RPC request rejected"

// check calls the health service both ways, with metadata, and returns their codes.
func check(t *testing.T, hc healthpb.HealthClient) (unary, stream codes.Code) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "k", "a", "k", "b", "e", "", "k-bin", "\x01\x02")
	_, err := hc.Check(ctx, &healthpb.HealthCheckRequest{})
	unary = status.Code(err)
	if unary == codes.PermissionDenied && status.Convert(err).Message() != refused {
		t.Errorf("the message is %q", status.Convert(err).Message())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := hc.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Recv()
	return unary, status.Code(err)
}

// TestPrincipals has every kind of client meet every kind of principal (gRFC A43).
func TestPrincipals(t *testing.T) {
	all := []string{"insecure", "none", "spiffe", "uris", "dns", "subject", "empty"}
	ids := identities(t)
	for _, tt := range []struct {
		source string
		want   []string
	}{
		{`{}`, all},
		{`{"principals":[]}`, all},
		{`{"principals":["*"]}`, []string{"spiffe", "uris", "dns", "subject"}},
		{`{"principals":[""]}`, []string{"none", "empty"}},
		{`{"principals":["","*"]}`, all[1:]},
		{`{"principals":["spiffe://foo/a"]}`, []string{"spiffe", "uris"}},
		{`{"principals":["https://*"]}`, []string{"uris"}},
		{`{"principals":["d.test"]}`, []string{"dns"}},
		{`{"principals":["*e.test"]}`, []string{"dns"}},
		{`{"principals":["E.test"]}`, nil},
		{`{"principals":["CN=cn\\, x,O=o\\+p,C=DE"]}`, []string{"subject"}},
		{`{"principals":["CN=*","d.*"]}`, []string{"dns", "subject"}},
	} {
		i, err := authz.NewStatic(`{"name":"p","allow_rules":[{"name":"r","source":` + tt.source + `}]}`)
		if err != nil {
			t.Errorf("%s: %v", tt.source, err)
			continue
		}
		for _, id := range ids {
			unary, stream := check(t, serve(t, i, id))
			want := codes.PermissionDenied
			if slices.Contains(tt.want, id.name) {
				want = codes.OK
			}
			if unary != want || stream != want {
				t.Errorf("%s for client %q: %v and %v, want %v", tt.source, id.name, unary, stream, want)
			}
		}
	}
}

// TestRequests is about paths, headers, and the order of the two lists.
func TestRequests(t *testing.T) {
	const both, checkOnly, neither = 3, 2, 0
	id := identities(t)[0]
	allow := func(request string) string { return `"allow_rules":[{"name":"r","request":` + request + `}]` }
	for _, tt := range []struct {
		rules string
		want  int
	}{
		{allow(`{}`), both},
		{allow(`{"paths":["*"]}`), both},
		{allow(`{"paths":[""]}`), neither},
		{allow(`{"paths":["*/Check"]}`), checkOnly},
		{allow(`{"paths":["*/check"]}`), neither},
		{allow(`{"paths":["/a","/grpc.health.v1.Health/*"]}`), both},
		{allow(`{"paths":["/grpc.health.v1.Health/Check"]}`), checkOnly},
		{allow(`{"paths":["/*/Check"]}`), neither}, // an asterisk in the middle is one
		{allow(`{"headers":[{"key":"K","values":["a,b"]}]}`), both},
		{allow(`{"headers":[{"key":"k","values":["a"]}]}`), neither},
		{allow(`{"headers":[{"key":"k","values":["x","*,b"]}]}`), both},
		{allow(`{"headers":[{"key":"k","values":["*"]},{"key":"e","values":[""]}]}`), both},
		{allow(`{"headers":[{"key":"k","values":["*"]},{"key":"e","values":["*"]}]}`), neither},
		{allow(`{"headers":[{"key":"absent","values":["", "*"]}]}`), neither},
		{allow(`{"headers":[{"key":"k-bin","values":["\u0001\u0002"]}]}`), both},
		{allow(`{"headers":[{"key":"content-type","values":["application/grpc"]}]}`), both},
		{allow(`{"paths":["/x"],"headers":[{"key":"k","values":["*"]}]}`), neither},
		{`"deny_rules":[{"name":"d","request":{"paths":["*Watch"]}}],"allow_rules":[{"name":"r"}]`, checkOnly},
		{`"deny_rules":[{"name":"d"}],"allow_rules":[{"name":"r"}]`, neither},
		{`"deny_rules":[],"allow_rules":[{"name":"r","request":{"paths":["/x"]}},{"name":"r","request":{"paths":["*Check"]}}]`, checkOnly},
		// Rules may have one name; both are heeded.
		{`"deny_rules":[{"name":"d","request":{"paths":["*Watch"]}},{"name":"d","request":{"paths":["/x"]}}],"allow_rules":[{"name":"r"}]`, checkOnly},
	} {
		i, err := authz.NewStatic(`{"name":"p",` + tt.rules + `}`)
		if err != nil {
			t.Errorf("%s: %v", tt.rules, err)
			continue
		}
		unary, stream := check(t, serve(t, i, id))
		got := 0
		if unary == codes.OK {
			got |= checkOnly
		}
		if stream == codes.OK {
			got |= 1
		}
		if got != tt.want {
			t.Errorf("%s: unary %v, stream %v", tt.rules, unary, stream)
		}
	}
}

// keeper is a logger, and its builder, that keeps events.
type keeper struct {
	mu     sync.Mutex
	parsed []string
	events []audit.Event
}

type keeperConfig struct{ audit.LoggerConfig }

func (k *keeper) Name() string { return "keeper" }

func (k *keeper) ParseLoggerConfig(c json.RawMessage) (audit.LoggerConfig, error) {
	k.parsed = append(k.parsed, string(c))
	return keeperConfig{}, nil
}

func (k *keeper) Build(audit.LoggerConfig) audit.Logger { return k }

func (k *keeper) Log(e *audit.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, *e)
}

// TestAudit runs gRFC A59's table of conditions with a call that a rule allows, one that a
// rule denies, and one that none allows.
func TestAudit(t *testing.T) {
	ids := identities(t)
	spiffe := ids[slices.IndexFunc(ids, func(id identity) bool { return id.name == "spiffe" })]
	event := func(method, rule string, ok bool) audit.Event {
		return audit.Event{
			FullMethodName: "/grpc.health.v1.Health/" + method, Principal: "spiffe://foo/a",
			PolicyName: "p", MatchedRule: rule, Authorized: ok,
		}
	}
	allowed, denied, unmatched := event("Check", "p_a", true), event("Watch", "p_d", false), event("List", "", false)
	for _, tt := range []struct {
		condition string
		want      []audit.Event
	}{
		{`"audit_condition":"NONE",`, nil},
		{``, nil},
		{`"audit_condition":"ON_DENY",`, []audit.Event{denied, unmatched}},
		{`"audit_condition":"ON_ALLOW",`, []audit.Event{allowed}},
		{`"audit_condition":"ON_DENY_AND_ALLOW",`, []audit.Event{allowed, denied, unmatched}},
	} {
		k := &keeper{}
		audit.RegisterLoggerBuilder(k)
		i, err := authz.NewStatic(`{"name":"p","deny_rules":[{"name":"d","request":{"paths":["*Watch"]}}],
			"allow_rules":[{"name":"a","request":{"paths":["*Check"]}}],
			"audit_logging_options":{` + tt.condition + `"audit_loggers":[
				{"name":"keeper","config":{ "b": [2], "a": 1.50 }},{"name":"nobody","is_optional":true}]}}`)
		if err != nil {
			t.Fatal(err)
		}
		hc := serve(t, i, spiffe)
		if unary, stream := check(t, hc); unary != codes.OK || stream != codes.PermissionDenied {
			t.Errorf("%s unary %v, stream %v", tt.condition, unary, stream)
		}
		if _, err := hc.List(t.Context(), &healthpb.HealthListRequest{}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s List: %v", tt.condition, err)
		}
		k.mu.Lock()
		if !reflect.DeepEqual(k.events, tt.want) {
			t.Errorf("%s events\n%+v, want\n%+v", tt.condition, k.events, tt.want)
		}
		if want := []string{`{"a":1.5,"b":[2]}`}; !slices.Equal(k.parsed, want) {
			t.Errorf("the logger was given %q, want %q", k.parsed, want)
		}
		k.mu.Unlock()
	}
}

func TestContextOfNoRPC(t *testing.T) {
	i, err := authz.NewStatic(`{"name":"p","allow_rules":[{"name":"r"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = i.UnaryInterceptor(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, func(context.Context, any) (any, error) {
		t.Error("the handler was called")
		return nil, nil
	})
	if status.Code(err) != codes.Internal {
		t.Errorf("error %v, want code Internal", err)
	}
}

func ExampleNewStatic() {
	i, err := authz.NewStatic(`{
		"name": "example",
		"allow_rules": [{"name": "readers", "source": {"principals": ["spiffe://foo.com/*"]}, "request": {"paths": ["*/Get"]}}],
		"deny_rules": [{"name": "secrets", "request": {"paths": ["/pkg.Secrets/*"]}}]
	}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(i.UnaryInterceptor), grpc.ChainStreamInterceptor(i.StreamInterceptor))
	defer s.Stop()
	// Output:
}
