// SPDX-License-Identifier: Apache-2.0

package xdsclient

import (
	"testing"

	"google.golang.org/grpc/internal/xds/bootstrap"
)

// TestA36Alike: of which control planes the same bytes are the same resource. What decoding depends on is in the
// field Server of resource.Context.
func TestA36Alike(t *testing.T) {
	server := func(uri, features string) string {
		return `{"server_uri":"` + uri + `","channel_creds":[{"type":"insecure"}],"server_features":[` + features + `]}`
	}
	b := parsed(t, `{"xds_servers":[`+server("p", "")+`,`+server("q", "")+`,`+server("r", `"trusted_xds_server"`)+`]}`)
	p, q, r := b.Servers[0], b.Servers[1], b.Servers[2]
	var c Client
	c.types(b, Features(), Filters())
	trust := func(a, b *bootstrap.Server) bool { return c.Listeners.Alike(a, b) && c.Routes.Alike(a, b) }
	if !trust(p, q) || trust(p, r) {
		t.Error("Listeners and RouteConfigurations depend on more than trust, or not on it")
	}
	if c.Clusters.Alike(p, q) || !c.Clusters.Alike(p, p) {
		t.Error("a Cluster does not depend on the control plane, which gets the load reports")
	}
	if c.Endpoints.Alike != nil {
		t.Error("ClusterLoadAssignments depend on the control plane")
	}
}
