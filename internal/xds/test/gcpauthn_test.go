// SPDX-License-Identifier: Apache-2.0

package test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	gcpauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/internal/xds/filters"
	"google.golang.org/grpc/internal/xds/httpfilter"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/protobuf/types/known/anypb"
)

// metadataServer makes identity tokens as Google Cloud's does.
func metadataServer(t *testing.T) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims := fmt.Sprintf(`{"aud":%q,"exp":%d}`, r.URL.Query().Get("audience"), time.Now().Add(time.Hour).Unix())
		fmt.Fprintf(w, "e30.%s.c2ln", base64.RawURLEncoding.EncodeToString([]byte(claims)))
	}))
	t.Cleanup(s.Close)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
}

// wantsToken is a policy for RPCs with an identity token.
func wantsToken() *rbacv3.RBAC {
	return &rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{Policies: map[string]*rbacconfigv3.Policy{"token": {
		Permissions: []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Header{Header: &routev3.HeaderMatcher{
			//nolint:staticcheck // control planes use it
			Name: "authorization", HeaderMatchSpecifier: &routev3.HeaderMatcher_PrefixMatch{PrefixMatch: "Bearer e30."},
		}}}},
		Principals: []*rbacconfigv3.Principal{{Identifier: &rbacconfigv3.Principal_Any{Any: true}}},
	}}}}
}

// TestA83: RPCs carry a token for the audience of their cluster, over secure connections only.
func TestA83(t *testing.T) {
	metadataServer(t)
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	clientCreds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	serverCreds, err := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	providers := fmt.Sprintf(`{"files":{"plugin_name":"file_watcher","config":{"ca_certificate_file":%q,"certificate_file":%q,"private_key_file":%q}}}`, files.CA, files.Cert, files.Key)
	s := serveXDS(t, serverPool(t, p, providers), "127.0.0.1", grpc.Creds(serverCreds))
	pool := poolWith(t, serverText(p, providers), func(o *xdsclient.Options) {
		o.Features.GCPAuthn = true
		o.Filters = httpfilter.NewRegistry(httpfilter.Router{}, filters.GCPAuthn{})
	})
	cc := channelTo(t, "xds:///service.test", xdsresolver.Builder{Pool: pool}, grpc.WithTransportCredentials(clientCreds))
	b := &backend{port: s.port}
	l := filtered("service.test", "r", filter("authn", &gcpauthnv3.GcpAuthnFilterConfig{}))
	audience := &corev3.Metadata{TypedFilterMetadata: map[string]*anypb.Any{"authn": mustAny(&gcpauthnv3.Audience{Url: "https://service.test"})}}
	guard := filter("rbac", wantsToken())
	for _, tt := range []struct {
		name             string
		secure, audience bool
		want             codes.Code
	}{
		{"no audience", true, false, codes.PermissionDenied},
		{"token", true, true, codes.OK},
		{"in plaintext", false, true, codes.Unauthenticated},
	} {
		c, chain := cluster("c"), inline(takes(tt.name, ""), guard)
		if tt.secure {
			c, chain = withTLS(c, testcerts.ServerName), secured(chain, false)
		}
		if tt.audience {
			c.Metadata = audience
		}
		p.set(s.listener(chain), l, routes(to("c")), c, assignment("c", local("z", 0, 1, b)))
		wantCode(t, cc, tt.want)
	}
}
