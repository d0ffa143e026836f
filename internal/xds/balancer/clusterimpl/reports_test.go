// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// unheard returns a client whose control plane cannot be reached. It counts the attempts.
func unheard(t *testing.T, dials *int) (*xdsclient.Client, *bootstrap.Server) {
	t.Helper()
	b, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"p","channel_creds":[{"type":"insecure"}]}]}`), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &xdsclient.Client{Client: client.New(client.Config{Bootstrap: b, Dial: func(*bootstrap.Server) (client.Transport, error) {
		*dials++
		return nil, errors.New("nobody is there")
	}})}, b.Servers[0]
}

// TestReportsGoOn: what a cluster has counted is still reported after its EDS service has another name, though
// nothing but this cluster reports to the control plane.
func TestReportsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c, plane := unheard(t, &dials)
		defer c.Close()
		// loads returns the counters in use, or new ones if there are none in use.
		loads := func() *client.Loads {
			l, stop := c.ReportLoad(plane)
			stop()
			return l
		}
		var r *reports
		r = r.update("c", &resource.Cluster{LRS: plane, EDSServiceName: "a"}, c)
		first, counters := loads(), r.counters()
		again := r.update("c", &resource.Cluster{LRS: plane, EDSServiceName: "b"}, c)
		synctest.Wait()
		if again == r || again.counters() == counters {
			t.Error("another service has the same counters")
		}
		if loads() != first || dials != 1 {
			t.Errorf("the counts are lost; %d connections", dials)
		}
		if again.update("c", &resource.Cluster{}, c) != nil || loads() == first {
			t.Error("reports that nobody asks for go on")
		}
	})
}

// TestReportsOfAnotherCluster: a policy that is led to another cluster counts for that.
func TestReportsOfAnotherCluster(t *testing.T) {
	c, plane := unheard(t, new(int))
	defer c.Close()
	var r *reports
	r = r.update("a", &resource.Cluster{Name: "a", LRS: plane}, c)
	same := r.update("a", &resource.Cluster{Name: "a", LRS: plane}, c)
	other := same.update("b", &resource.Cluster{Name: "b", LRS: plane}, c)
	defer other.stop()
	if same != r || other.counters() == r.counters() {
		t.Error("cluster b counts as cluster a, or a does not go on")
	}
}
