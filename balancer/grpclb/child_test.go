// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// TestHealthChecks: client-side health checks are for servers that the resolver found, not for those
// that a load balancer named (gRFC A17).
func TestHealthChecks(t *testing.T) {
	lb, a := newBalancerServer(t), newBackend(t)
	a.health.SetServingStatus("service", healthpb.HealthCheckResponse_NOT_SERVING)
	const config = `"healthCheckConfig": {"serviceName": "service"}`
	withChecks := func(c *client, balancers []string) {
		s := found(balancers, a.addr)
		s.ServiceConfig = c.found.CC().ParseServiceConfig(
			`{` + config + `, "loadBalancingConfig": [{"grpclb": {"initialFallbackTimeout": "1000s"}}]}`)
		c.found.UpdateState(s)
	}
	c := newClient(t, "{}", found([]string{lb.addr}))
	c.cc.Connect()
	st := lb.stream(t)
	withChecks(c, []string{lb.addr})
	st.list(t, a.server("ta"))
	c.reaches(t, a.addr)

	withChecks(c, nil)
	for {
		if _, err := c.call(t); err != nil {
			if status.Code(err) != codes.Unavailable {
				t.Fatal(err)
			}
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the fallback is used although it is not serving")
		}
	}
	c.waits(t, grpc.WaitForReady(true))
	a.health.SetServingStatus("service", healthpb.HealthCheckResponse_SERVING)
	c.reaches(t, a.addr)
}
