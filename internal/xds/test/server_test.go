// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestA36Modes: a server serves while there is a Listener for it.
func TestA36Modes(t *testing.T) {
	p := newPlane(t)
	p.resourceTimeout = time.Second
	p.set()
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	cc := s.dial("")
	s.wantMode(connectivity.ServingModeNotServing)
	wantCode(t, cc, codes.Unavailable)

	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	wantCode(t, cc, codes.OK)

	p.set()
	s.wantMode(connectivity.ServingModeNotServing)
	wantCode(t, cc, codes.Unavailable)

	wrong := s.listener(inline(takes("", "")))
	wrong.GetAddress().GetSocketAddress().Address = "10.0.0.1"
	p.set(wrong)
	if m := s.wantMode(connectivity.ServingModeNotServing); !strings.Contains(m.err.Error(), "10.0.0.1") {
		t.Error(m.err)
	}
	wrong.GetAddress().GetSocketAddress().PortSpecifier = &corev3.SocketAddress_PortValue{} // any port, but not any address
	p.set(wrong)
	if m := s.wantMode(connectivity.ServingModeNotServing); !strings.Contains(m.err.Error(), "10.0.0.1:0") {
		t.Error(m.err)
	}
	anyPort := s.listener(inline(takes("", "")))
	anyPort.GetAddress().GetSocketAddress().PortSpecifier = &corev3.SocketAddress_PortValue{}
	p.set(anyPort)
	s.wantMode(connectivity.ServingModeServing)
	wantCode(t, cc, codes.OK)
	client := listener(s.name(), "r")
	p.set(client)
	if m := s.wantMode(connectivity.ServingModeNotServing); !strings.Contains(m.err.Error(), "api_listener") {
		t.Error(m.err)
	}
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	wantCode(t, cc, codes.OK)
}

// TestA36ControlPlaneLost: "Communication failures do not impact the XdsServer's xDS
// configuration".
func TestA36ControlPlaneLost(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	p.stop()
	for range 3 {
		if err := empty(t, s.dial("")); err != nil {
			t.Error(err)
		}
	}
	p.start()
	p.set()
	s.wantMode(connectivity.ServingModeNotServing)
}

// TestA36RDS: routes that come by reference change for the connections that there are.
func TestA36RDS(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	l := s.listener(rds("r"))
	p.set(l, takes("r", ""))
	s.wantMode(connectivity.ServingModeServing)
	cc := s.dial("")
	var first, now peer.Peer
	if err := empty(t, cc, grpc.Peer(&first)); err != nil {
		t.Fatal(err)
	}
	p.set(l, takes("r", "/other"))
	wantCode(t, cc, codes.Unavailable)
	forwards := route("r", "cluster")
	p.set(l, forwards)
	wantMessage(t, cc, "not of action type non forwarding")
	p.set(l, takes("r", "/grpc.testing.TestService/EmptyCall"))
	wantCode(t, cc, codes.OK)
	if err := empty(t, cc, grpc.Peer(&now)); err != nil || now.LocalAddr.String() != first.LocalAddr.String() {
		t.Errorf("%v; the connection is another: %v, %v", err, now.LocalAddr, first.LocalAddr)
	}
	p.set(l) // a RouteConfiguration that is not sent stays
	if err := empty(t, cc); err != nil {
		t.Error(err)
	}
}

// wantMessage repeats an RPC until it fails so.
func wantMessage(t *testing.T, cc *grpc.ClientConn, want string) {
	t.Helper()
	until(t, func() bool {
		err := empty(t, cc)
		return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), want)
	})
}

// TestA36NoRoutes: without its RouteConfiguration a server serves, and RPCs fail.
func TestA36NoRoutes(t *testing.T) {
	p := newPlane(t)
	p.resourceTimeout = time.Second
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	p.set(s.listener(rds("r")))
	s.wantMode(connectivity.ServingModeServing) // after the time that the routes may take
	cc := s.dial("")
	if err := empty(t, cc); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `"r"`) {
		t.Error(err)
	}
	p.set(s.listener(rds("r")), takes("r", ""))
	wantCode(t, cc, codes.OK)
}

func TestA36NoVirtualHost(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	routes := takes("", "")
	routes.VirtualHosts[0].Domains = []string{"other.test"}
	p.set(s.listener(inline(routes)))
	s.wantMode(connectivity.ServingModeServing)
	cc := s.dial("")
	wantMessage(t, cc, "Virtual Host")
	if err := empty(t, cc, grpc.CallAuthority("other.test")); err != nil {
		t.Error(err)
	}
}

// TestA36Drain: a new Listener has new RPCs begin on new connections, and those that there are
// go on.
func TestA36Drain(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	cc := s.dial("")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	st, err := testgrpc.NewTestServiceClient(cc).FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ping := func() {
		t.Helper()
		if err := st.Send(&testgrpc.StreamingOutputCallRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	ping()
	p.set(s.listener(inline(takes("", "/grpc.testing.TestService/Full"))))
	wantMessage(t, cc, "Route") // the new connection goes by the new routes
	ping()
	p.set()
	s.wantMode(connectivity.ServingModeNotServing)
	ping() // "already-started RPCs should not fail"
	wantCode(t, cc, codes.Unavailable)
	ping()
}

// TestA36FilterChains: the server's address chooses the chain; where none is for a connection,
// it is closed with nothing sent.
func TestA36FilterChains(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "0.0.0.0")
	special := inline(takes("", ""))
	special.FilterChainMatch = &listenerv3.FilterChainMatch{PrefixRanges: []*corev3.CidrRange{{AddressPrefix: "127.0.0.2", PrefixLen: wrapperspb.UInt32(32)}}}
	denied := inline(takes("", ""), filter("rbac", everybody(rbacconfigv3.RBAC_DENY)))
	denied.FilterChainMatch = &listenerv3.FilterChainMatch{PrefixRanges: []*corev3.CidrRange{{AddressPrefix: "127.0.0.0", PrefixLen: wrapperspb.UInt32(24)}}}
	l := s.listener(special, denied, nil)
	p.set(l)
	s.wantMode(connectivity.ServingModeServing)
	for ip, want := range map[string]codes.Code{"127.0.0.1": codes.PermissionDenied, "127.0.0.2": codes.OK, "127.0.1.1": codes.Unavailable} {
		if err := empty(t, s.dial(ip)); status.Code(err) != want {
			t.Errorf("%s: %v", ip, err)
		}
	}
}

// TestA41RBAC: the policy of the list, and a route's that takes its place.
func TestA41RBAC(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	routes := takes("", "/grpc.testing.TestService/Full")
	open := takes("", "").VirtualHosts[0].Routes[0]
	open.TypedPerFilterConfig = map[string]*anypb.Any{"rbac": mustAny(&rbacv3.RBACPerRoute{})}
	routes.VirtualHosts[0].Routes = append(routes.VirtualHosts[0].Routes, open)
	p.set(s.listener(inline(routes, filter("rbac", everybody(rbacconfigv3.RBAC_DENY)))))
	s.wantMode(connectivity.ServingModeServing)
	cc := s.dial("")
	if err := empty(t, cc); err != nil {
		t.Error(err)
	}
	st, err := testgrpc.NewTestServiceClient(cc).FullDuplexCall(t.Context())
	if err == nil {
		_, err = st.Recv()
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
	// The virtual host's is for routes that have none.
	routes.VirtualHosts[0].TypedPerFilterConfig = map[string]*anypb.Any{"rbac": mustAny(&rbacv3.RBACPerRoute{Rbac: everybody(rbacconfigv3.RBAC_ALLOW)})}
	p.set(s.listener(inline(routes, filter("rbac", everybody(rbacconfigv3.RBAC_DENY)))))
	until(t, func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		st, err := testgrpc.NewTestServiceClient(cc).FullDuplexCall(ctx)
		if err != nil {
			return false
		}
		_ = st.Send(&testgrpc.StreamingOutputCallRequest{})
		_, err = st.Recv()
		return err == nil
	})
}

// secured makes a chain of one with TLS.
func secured(c *listenerv3.FilterChain, mutual bool) *listenerv3.FilterChain {
	m := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "files"},
	}}
	if mutual {
		m.RequireClientCertificate = wrapperspb.Bool(true)
		m.CommonTlsContext.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			CaCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "files"},
		}}
	}
	c.TransportSocket = &corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: mustAny(m)}}
	return c
}

// TestA29Server: a filter chain says how connections are secured, and the fallback credentials
// are for those that don't.
func TestA29Server(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	creds, err := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	pool := serverPool(t, p, fmt.Sprintf(`{"files":{"plugin_name":"file_watcher","config":{"ca_certificate_file":%q,"certificate_file":%q,"private_key_file":%q}}}`, files.CA, files.Cert, files.Key))
	s := serveXDS(t, pool, "127.0.0.1", grpc.Creds(creds))
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: testcerts.ServerName}
	ca, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	config.RootCAs.AppendCertsFromPEM(ca)
	secure := s.dial("", grpc.WithTransportCredentials(credentials.NewTLS(config)))
	plain := s.dial("")
	for _, tt := range []struct {
		chain         *listenerv3.FilterChain
		secure, plain codes.Code
	}{
		{inline(takes("a", "")), codes.Unavailable, codes.OK},
		{secured(inline(takes("b", "")), false), codes.OK, codes.Unavailable},
		{secured(inline(takes("c", "")), true), codes.Unavailable, codes.Unavailable},
		{secured(inline(takes("d", "")), false), codes.OK, codes.Unavailable},
	} {
		p.set(s.listener(tt.chain))
		wantCode(t, secure, tt.secure)
		wantCode(t, plain, tt.plain)
	}
	if n := len(s.modes); n != 1 {
		t.Errorf("told %d times of the mode", n)
	}
}

// auditor is a logger of a program's own.
type auditor struct {
	audit.LoggerConfig
	events chan audit.Event
}

func (*auditor) Name() string { return "auditor_of_test" }
func (a *auditor) ParseLoggerConfig(json.RawMessage) (audit.LoggerConfig, error) {
	return a, nil
}
func (a *auditor) Build(audit.LoggerConfig) audit.Logger { return a }
func (a *auditor) Log(e *audit.Event)                    { a.events <- *e }

// TestA59Audit: the RBAC filter has decisions logged.
func TestA59Audit(t *testing.T) {
	a := &auditor{events: make(chan audit.Event, 10)}
	audit.RegisterLoggerBuilder(a)
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	policy := everybody(rbacconfigv3.RBAC_DENY)
	policy.Rules.AuditLoggingOptions = &rbacconfigv3.RBAC_AuditLoggingOptions{
		AuditCondition: rbacconfigv3.RBAC_AuditLoggingOptions_ON_DENY_AND_ALLOW,
		LoggerConfigs: []*rbacconfigv3.RBAC_AuditLoggingOptions_AuditLoggerConfig{{AuditLogger: &corev3.TypedExtensionConfig{
			Name: "auditor", TypedConfig: &anypb.Any{
				TypeUrl: "type.googleapis.com/xds.type.v3.TypedStruct", // whose first field is the type
				Value:   protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "x.test/auditor_of_test"),
			},
		}}},
	}
	p.set(s.listener(inline(takes("", ""), filter("the guard", policy))))
	s.wantMode(connectivity.ServingModeServing)
	if err := empty(t, s.dial("")); status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
	select {
	case e := <-a.events:
		want := audit.Event{FullMethodName: testgrpc.TestService_EmptyCall_FullMethodName, PolicyName: "the guard", MatchedRule: "everybody"}
		if e != want {
			t.Errorf("%+v, want %+v", e, want)
		}
	case <-time.After(patience):
		t.Error("nothing is logged")
	}
}
