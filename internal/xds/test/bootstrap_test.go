// SPDX-License-Identifier: Apache-2.0

package test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/xds/bootstrap"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestA47Federation: a Listener of one authority's control plane, and the rest from another's.
func TestA47Federation(t *testing.T) {
	p, q := newPlane(t), newPlane(t)
	a := newBackend(t, "a")
	const name = "xdstp://shops/envoy.config.listener.v3.Listener/target"
	q.set(listener(name, "r"))
	p.set(routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	text := strings.TrimSuffix(bootstrapText(p), "}") + fmt.Sprintf(`,"authorities":{"shops":{
		"client_listener_resource_name_template":"xdstp://shops/envoy.config.listener.v3.Listener/%%s",
		"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}]}]}}}`, q.address)
	cc := channelTo(t, "xds://shops/target", xdsresolver.Builder{Pool: poolWith(t, text, func(*xdsclient.Options) {})})
	if got := call(t, cc); got != "a" {
		t.Errorf("%q", got)
	}
	for _, plane := range []*plane{p, q} {
		if streams, nacks := plane.counts(); streams != 1 || len(nacks) > 0 {
			t.Errorf("%d streams, refused: %v", streams, nacks)
		}
	}
	// Nobody knows this authority.
	nobody := channelTo(t, "xds://others/target", xdsresolver.Builder{Pool: poolWith(t, text, func(*xdsclient.Options) {})})
	if _, err := try(t.Context(), t, nobody); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "others") {
		t.Error(err)
	}
}

// TestA53Deletion: what the control plane takes away is gone, unless the bootstrap says otherwise.
func TestA53Deletion(t *testing.T) {
	for feature, stays := range map[string]bool{`[]`: false, `["ignore_resource_deletion"]`: true} {
		t.Run(feature, func(t *testing.T) {
			p := newPlane(t)
			a, b := newBackend(t, "a"), newBackend(t, "b")
			text := strings.Replace(bootstrapText(p), `"channel_creds"`, `"server_features":`+feature+`,"channel_creds"`, 1)
			cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: poolWith(t, text, func(*xdsclient.Options) {})})
			both := routes(to("b", withHeader("who", "b")), to("a"))
			p.set(listener("target", "r"), both, cluster("a"), cluster("b"), assignment("a", local("z", 0, 1, a)), assignment("b", local("z", 0, 1, b)))
			call(t, cc)
			// That cluster "b" has moved shows that the rest has been heard of, too.
			moved := cluster("b")
			moved.EdsClusterConfig.ServiceName = "elsewhere"
			p.set(listener("target", "r"), routes(to("b", withHeader("who", "b")), to("a")), moved,
				assignment("a", local("z", 0, 1, a)), assignment("elsewhere", local("z", 0, 1, a)))
			if !stays {
				until(t, func() bool {
					_, err := try(t.Context(), t, cc)
					return status.Code(err) == codes.Unavailable
				})
				return
			}
			until(t, func() bool {
				got, err := try(metadata.AppendToOutgoingContext(t.Context(), "who", "b"), t, cc)
				return err == nil && got == "a"
			})
			for range 100 {
				if _, err := try(t.Context(), t, cc); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestA88FailOnDataErrors: a cluster that is not valid any more fails RPCs where the bootstrap asks
// for it, and else not.
func TestA88FailOnDataErrors(t *testing.T) {
	for feature, fails := range map[string]bool{`[]`: false, `["fail_on_data_errors"]`: true} {
		t.Run(feature, func(t *testing.T) {
			p := newPlane(t)
			a := newBackend(t, "a")
			text := strings.Replace(bootstrapText(p), `"channel_creds"`, `"server_features":`+feature+`,"channel_creds"`, 1)
			cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: poolWith(t, text, func(o *xdsclient.Options) { o.Client.DataErrors = true })})
			p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
			call(t, cc)
			p.set(listener("target", "r"), routes(to("c")), badCluster("c"), assignment("c", local("z", 0, 1, a)))
			until(t, func() bool {
				_, nacks := p.counts()
				return len(nacks) > 0
			})
			if fails {
				until(t, func() bool {
					_, err := try(t.Context(), t, cc)
					return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "lb_policy")
				})
				return
			}
			if got, err := try(t.Context(), t, cc); got != "a" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestA65A97Credentials: a control plane behind mTLS, which wants a token.
func TestA65A97Credentials(t *testing.T) {
	dir := t.TempDir()
	files, err := testcerts.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := credentials.NewServerTLSFromFile(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	token := "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, time.Now().Add(time.Hour).Unix())) + ".c2ln"
	jwt := filepath.Join(dir, "token")
	if err := os.WriteFile(jwt, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlane(t, grpc.Creds(creds))
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	text := strings.Replace(bootstrapText(p), `{"type":"insecure"}]`, fmt.Sprintf(
		`{"type":"tls","config":{"ca_certificate_file":%q}}],"call_creds":[{"type":"jwt_token_file","config":{"jwt_token_file":%q}}]`, files.CA, jwt), 1)
	for _, on := range []bool{true, false} {
		b, err := bootstrap.Parse([]byte(text), bootstrap.Options{CallCreds: on})
		if err != nil {
			t.Fatal(err)
		}
		o := xdsclient.Options{Bootstrap: b, Features: xdsclient.Features(), Filters: xdsclient.Filters()}
		cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: xdsclient.NewPool(o)})
		if got := call(t, cc); got != "a" {
			t.Errorf("%q", got)
		}
		want := ""
		if on {
			want = "Bearer " + token
		}
		if got := p.authorization(); got != want {
			t.Errorf("call credentials on: %t; the control plane got %q", on, got)
		}
	}
}
