// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
)

func newEndpoints() proto.Message { return &endpointv3.ClusterLoadAssignment{} }

// addr is an address in text form.
func addr(host string, port int) string {
	return fmt.Sprintf(`address { socket_address { address: %q port_value: %d } }`, host, port)
}

// lb is an endpoint with an address, and more fields of the LbEndpoint.
func lb(host string, port int, fields string) string {
	return fmt.Sprintf(`lb_endpoints { endpoint { %s } %s }`, addr(host, port), fields)
}

// locality is one in text form.
func locality(zone string, priority int, weight uint32, endpoints ...string) string {
	return fmt.Sprintf(`endpoints { locality { region: "r" zone: %q } priority: %d load_balancing_weight { value: %d } %s }`,
		zone, priority, weight, strings.Join(endpoints, " "))
}

func parseEndpoints(t *testing.T, c *Context, text string) *Endpoints {
	t.Helper()
	e, err := ParseEndpoints(c, raw(t, newEndpoints(), text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func TestA27Endpoints(t *testing.T) {
	e := parseEndpoints(t, plain(t), `cluster_name: "c" policy { drop_overloads { category: "x" drop_percentage { numerator: 5 denominator: TEN_THOUSAND } } }`+
		locality("z1", 1, 3, lb("10.0.0.3", 80, ""))+
		locality("z1", 0, 2, lb("10.0.0.1", 80, "health_status: HEALTHY load_balancing_weight { value: 7 }"), lb("::1", 81, "health_status: DRAINING"), lb("10.0.0.9", 80, "health_status: UNHEALTHY"))+
		locality("z2", 0, 1)+
		locality("skipped", 7, 0, `lb_endpoints {}`),
	)
	if e.Name != "c" || !reflect.DeepEqual(e.Drops, []Drop{{"x", 500}}) {
		t.Errorf("%+v", e)
	}
	p := e.Priorities()
	if len(p) != 2 || len(p[0]) != 2 || len(p[1]) != 1 || p[0][1].ID.Zone != "z2" || p[1][0].Weight != 3 {
		t.Fatalf("%+v", p)
	}
	want := []Endpoint{{Address: "10.0.0.1:80", Weight: 7, Health: Healthy}, {Address: "[::1]:81", Weight: 1, Health: Draining}}
	if got := p[0][0].Endpoints; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := p[0][0].ID.String(); got != `{region="r", zone="z1", sub_zone=""}` { // A78
		t.Error(got)
	}
	if e := parseEndpoints(t, plain(t), `cluster_name: "none"`); len(e.Localities) != 0 || e.Priorities() != nil {
		t.Errorf("%+v", e)
	}
}

func TestA27EndpointsRejected(t *testing.T) {
	one := lb("10.0.0.1", 80, "")
	checkBad(t, newEndpoints, ParseEndpoints, []bad{
		{locality("z", 1, 1, one), "endpoints: there is priority 1, but not 0"},
		{locality("z", 0, 1, one) + locality("z", 2, 1), "there is priority 2, but not 1"},
		{locality("z", 0, 1) + locality("z", 0, 2), "endpoints[1].locality"},
		{locality("a", 0, 1<<31) + locality("b", 0, 1<<31), "sum of locality weights in priority 0"},
		{`endpoints { load_balancing_weight { value: 1 } }`, "endpoints[0].locality: missing"},
		{locality("z", 0, 1, one, one), "endpoints[0].lb_endpoints[1].endpoint.address: 10.0.0.1:80 is there twice"},
		{locality("z", 0, 1, one) + locality("z", 1, 1, one), "endpoints[1].lb_endpoints[0].endpoint.address"},
		{locality("z", 0, 1, `lb_endpoints { endpoint_name: "x" }`), "lb_endpoints[0].endpoint: missing"},
		{locality("z", 0, 1, `lb_endpoints { endpoint {} }`), "lb_endpoints[0].endpoint.address.socket_address: missing"},
		{locality("z", 0, 1, `lb_endpoints { endpoint { address { pipe { path: "x" } } } }`), "socket_address: missing"},
		{locality("z", 0, 1, `lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" named_port: "x" } } } }`), "port_value: missing"},
		{locality("z", 0, 1, `lb_endpoints { endpoint { address { socket_address { port_value: 1 } } } }`), "socket_address.address: empty"},
		{locality("z", 0, 1, lb("a", 65536, "")), "port_value: 65536"},
		{locality("z", 0, 1, lb("a", 1, "load_balancing_weight {}")), "load_balancing_weight: is 0"},
		{locality("z", 0, 1, lb("a", 1, "load_balancing_weight { value: 4294967295 }"), lb("b", 1, "")), "lb_endpoints: the sum of weights"},
		{`policy { drop_overloads { drop_percentage { denominator: 9 } } }`, "policy.drop_overloads[0].drop_percentage: denominator"},
	})
	if _, err := ParseEndpoints(plain(t), []byte("\xff")); err == nil {
		t.Error("what is no message is accepted")
	}
}

func TestA61AdditionalAddresses(t *testing.T) {
	text := locality("z", 0, 1, `lb_endpoints { endpoint { `+addr("10.0.0.1", 80)+` additional_addresses { `+addr("::1", 80)+` } } }`)
	if got := parseEndpoints(t, plain(t), text).Localities[0].Endpoints[0]; !reflect.DeepEqual(got.MoreAddresses, []string{"[::1]:80"}) {
		t.Errorf("%+v", got)
	}
	off := plain(t)
	off.Features.Dualstack = false
	if got := parseEndpoints(t, off, text).Localities[0].Endpoints[0]; got.MoreAddresses != nil {
		t.Errorf("%+v", got)
	}
	checkBad(t, newEndpoints, ParseEndpoints, []bad{
		{locality("z", 0, 1, `lb_endpoints { endpoint { `+addr("10.0.0.1", 80)+` additional_addresses {} } }`), "additional_addresses[0].address"},
		{locality("z", 0, 1, `lb_endpoints { endpoint { `+addr("10.0.0.1", 80)+` additional_addresses { `+addr("10.0.0.1", 80)+` } } }`), "is there twice"},
	})
}

func TestA76HashKey(t *testing.T) {
	text := locality("z", 0, 1, lb("a", 1, `metadata { filter_metadata { key: "envoy.lb" value { fields { key: "hash_key" value { string_value: "k" } } } } }`))
	if got := parseEndpoints(t, plain(t), text).Localities[0].Endpoints[0].HashKey; got != "k" {
		t.Error(got)
	}
	off := plain(t)
	off.Features.EndpointHashKey = false
	if got := parseEndpoints(t, off, text).Localities[0].Endpoints[0].HashKey; got != "" {
		t.Error(got)
	}
}

func TestA81Hostname(t *testing.T) {
	text := locality("z", 0, 1, `lb_endpoints { endpoint { `+addr("10.0.0.1", 80)+` hostname: "h" } }`)
	if got := parseEndpoints(t, plain(t), text).Localities[0].Endpoints[0].Hostname; got != "h" {
		t.Error(got)
	}
}

func TestA86Proxy(t *testing.T) {
	proxy := func(host string) string {
		return `metadata { typed_filter_metadata { key: "envoy.http11_proxy_transport_socket.proxy_address" value { [type.googleapis.com/envoy.config.core.v3.Address] { socket_address { address: "` + host + `" port_value: 99 } } } } }`
	}
	text := locality("z", 0, 1, lb("a", 1, proxy("10.0.0.9")), lb("b", 1, ""), proxy("10.0.0.8"))
	e := parseEndpoints(t, context(t), text).Localities[0].Endpoints
	if e[0].Proxy != "10.0.0.9:99" || e[1].Proxy != "10.0.0.8:99" {
		t.Errorf("%+v", e)
	}
	if e := parseEndpoints(t, plain(t), text).Localities[0].Endpoints; e[0].Proxy != "" || e[1].Proxy != "" {
		t.Errorf("switched off: %+v", e)
	}
	checkBad(t, newEndpoints, ParseEndpoints, []bad{
		{locality("z", 0, 1, lb("a", 1, proxy("localhost"))), "lb_endpoints[0].metadata.typed_filter_metadata[envoy.http11_proxy_transport_socket.proxy_address].socket_address.address"},
	})
}

func TestA113Weights(t *testing.T) {
	p := []Locality{
		{Weight: 1, Endpoints: []Endpoint{{Weight: 1}, {Weight: 3}}},
		{Weight: 3, Endpoints: []Endpoint{{Weight: 1 << 31}, {Weight: 1}}},
	}
	sum := PriorityWeight(p)
	if got := p[0].EndpointWeights(sum); !reflect.DeepEqual(got, []uint32{one / 16, one / 16 * 3}) {
		t.Error(got)
	}
	drains := Locality{Weight: 1, Endpoints: []Endpoint{{Weight: 1}, {Weight: 9, Health: Draining}}}
	if got := drains.EndpointWeights(2); got[0] != one/2 || got[1] > one/2 {
		t.Errorf("of one and one that drains: %v", got)
	}
	drains.Endpoints = drains.Endpoints[1:]
	if got := drains.EndpointWeights(2); got[0] == 0 || got[0] > one/2 {
		t.Errorf("of one that drains: %v", got)
	}
	if got := p[1].EndpointWeights(sum); got[1] != 1 || got[0] == 0 || got[0] > one/4*3 {
		t.Error(got)
	}
}

func FuzzEndpoints(f *testing.F) {
	f.Add(raw(f, newEndpoints(), locality("z", 0, 1, lb("10.0.0.1", 80, ""))+locality("y", 1, 2, lb("10.0.0.2", 80, "health_status: DRAINING"))))
	c := context(f)
	c.Features.PanicRecovery = false
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseEndpoints(c, b)
		if err != nil {
			return
		}
		for n, p := range e.Priorities() {
			sum := PriorityWeight(p)
			for i := range p {
				if p[i].Priority != uint32(n) || p[i].Weight == 0 {
					t.Errorf("%+v", p[i])
				}
				if len(p[i].Endpoints) > 0 {
					p[i].EndpointWeights(sum)
				}
			}
		}
	})
}
