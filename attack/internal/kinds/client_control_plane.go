// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// childOf is what a balancer, and a subchannel, of a target take that a lookup server has named.
const childOf = 6 << 10

// ownKeys is what a cache of lookups holds for the keys that a program makes itself, a new one for each
// call: an entry stays for some seconds, also where its lookup failed, and then for a bound in bytes.
const ownKeys = 16 << 20

// controlKinds are attacks on a client by those who tell it where to go: route lookup servers (RLS), and
// control planes of xDS.
var controlKinds = []Kind{
	{
		Name: "client/rls/silent", Extras: true, Work: looksUp(100), Own: ownKeys, Busy: failing,
		About:  "lookups, each with another key, that are never answered",
		Attack: serveStreams(func(*attacker.Conn, uint32) error { return nil }),
	},
	{
		Name: "client/rls/refused", Extras: true, Work: looksUp(50), Own: ownKeys, Busy: failing,
		About:  "lookups that fail, each with a text of 7 KB, which a cache may keep",
		Attack: serveStreams(trailersOnly(wire.Field{Name: "grpc-status", Value: "13"}, wire.Field{Name: "grpc-message", Value: bytesOf(7 << 10)})),
	},
	{
		Name: "client/rls/targets", Extras: true, Work: looksUp(50), Own: 5000 * childOf,
		About:  "answers of 200 targets each, none of which is there twice",
		Attack: lookups(func(n int) []byte { return targets(n, 200) }),
	},
	{
		Name: "client/rls/one-target", Extras: true, Work: looksUp(50), Own: 5000 * childOf,
		About:  "answers of another target each",
		Attack: lookups(func(n int) []byte { return targets(n, 1) }),
	},
	{
		Name: "client/rls/header-data", Extras: true, Work: looksUp(50), Spate: 128 * mib, // an entry is not thrown out in its first seconds
		About: "answers with header data of 16 KB, as many as make 64 MB, so that they are as many on both sides",
		Attack: lookups(func(id int) []byte {
			if id/2 > 64<<20/(16<<10) {
				return text(3, "same")
			}
			return append(text(3, "same"), text(2, bytesOf(16<<10))...)
		}),
	},
	{
		Name: "client/rls/garbage", Extras: true, Work: looksUp(50), Own: ownKeys, Busy: failing,
		About:  "answers that are no message",
		Attack: lookups(func(int) []byte { return []byte(bytesOf(1000)) }),
	},
	{
		Name: "client/xds/silent", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About:  "a control plane that never answers",
		Attack: serveStreams(func(*attacker.Conn, uint32) error { return nil }),
	},
	{
		Name: "client/xds/reset", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About:  "a control plane that resets its streams",
		Attack: serveStreams(func(c *attacker.Conn, id uint32) error { return c.Reset(id, wire.Cancel) }),
	},
	{
		Name: "client/xds/refused-again", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About:  "a listener that is not valid, again and again (a NACK each)",
		Attack: controlPlane(func(int) []byte { return resources(listenerType, any_(listenerType, text(1, "attack.test"))) }),
	},
	{
		Name: "client/xds/unasked", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About: "1,000 listeners that nobody asked for, again and again",
		Attack: controlPlane(func(n int) []byte {
			var all [][]byte
			for i := range 1000 {
				all = append(all, listener(fmt.Sprintf("unasked-%d-%d", n, i), route("/", "c")))
			}
			return resources(listenerType, all...)
		}),
	},
	{
		Name: "client/xds/unknown-type", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About: "resources of 16 KB of a type that does not exist",
		Attack: controlPlane(func(int) []byte {
			return resources("type.googleapis.com/no.Such", any_("type.googleapis.com/no.Such", []byte(bytesOf(16<<10))))
		}),
	},
	{
		Name: "client/xds/routes", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About: "a listener with 5,000 routes, other ones each time",
		Attack: controlPlane(func(n int) []byte {
			var routes []byte
			for i := range 5000 {
				routes = append(routes, route(fmt.Sprintf("/s%d.%d/", n, i), "c")...)
			}
			return resources(listenerType, listener("attack.test", routes))
		}),
	},
	{
		Name: "client/xds/regexes", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About: "a listener with 200 routes whose regular expression repeats 900 times",
		Attack: controlPlane(func(int) []byte {
			return resources(listenerType, listener("attack.test", []byte(strings.Repeat(string(regexRoute("x{0,900}", "c")), 200))))
		}),
	},
	{
		Name: "client/xds/clusters", Extras: true, Env: bootstrap, Work: viaControlPlane(20),
		About: "a listener with a route to another cluster each time",
		Attack: controlPlane(func(n int) []byte {
			return resources(listenerType, listener("attack.test", route("/", fmt.Sprint("c", n))))
		}),
	},
}

// looksUp is work of callers whose calls need a lookup each.
func looksUp(n int) *orders.Work {
	return &orders.Work{
		Target: "passthrough:///127.0.0.1:1", Method: orders.Echo, Callers: n, Deadline: time.Second, Vary: true,
		Config: `{"loadBalancingConfig":[{"rls_experimental":{"routeLookupConfig":{
			"grpcKeybuilders":[{"names":[{"service":"` + orders.Service + `"}],"headers":[{"key":"k","names":["k"]}]}],
			"lookupService":"passthrough:///` + orders.Here + `","lookupServiceTimeout":"1s","maxAge":"60s","cacheSizeBytes":1000000},
			"childPolicy":[{"pick_first":{}}],"childPolicyConfigTargetFieldName":"target"}}]}`,
	}
}

// lookups answers each lookup with a message.
func lookups(m func(n int) []byte) attack {
	return serveStreams(func(c *attacker.Conn, id uint32) error {
		if err := c.Headers(id, 0, wire.Response()); err != nil {
			return err
		}
		return first(c.Data(id, 0, wire.AppendMessage(nil, 0, m(int(id)))), c.Headers(id, wire.EndStream, wire.Trailers()))
	})
}

// targets are count of them, that no other n has.
func targets(n, count int) []byte {
	var b []byte
	for i := range count {
		b = append(b, text(3, fmt.Sprintf("target-%d-%d", n, i))...)
	}
	return b
}

// bootstrap tells a client that the attacker is its control plane.
var bootstrap = []string{`GRPC_XDS_BOOTSTRAP_CONFIG={"xds_servers":[{"server_uri":"` + orders.Here +
	`","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3"]}],"node":{"id":"n"}}`}

// viaControlPlane is work of callers of a target that a control plane knows.
func viaControlPlane(n int) *orders.Work {
	return &orders.Work{Target: "xds:///attack.test", Method: orders.Echo, Callers: n, Deadline: time.Second}
}

// controlPlane sends responses on each stream, as fast as they are taken.
func controlPlane(response func(n int) []byte) attack {
	return serveStreams(func(c *attacker.Conn, id uint32) error {
		if err := c.Headers(id, 0, wire.Response()); err != nil {
			return err
		}
		for n := 0; !c.Over(); n++ {
			m := append(response(n), text(1, fmt.Sprint(n))...) // its version
			m = append(m, text(5, fmt.Sprint(n))...)            // and its nonce
			if err := first(c.Data(id, 0, wire.AppendMessage(nil, 0, m)), c.Flush()); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	managerType  = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	routerType   = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
)

func nested(field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), m)
}

// any_ is a google.protobuf.Any.
func any_(typ string, m []byte) []byte { return append(text(1, typ), nested(2, m)...) }

// resources is a DiscoveryResponse.
func resources(typ string, all ...[]byte) []byte {
	b := text(4, typ)
	for _, r := range all {
		b = append(b, nested(2, r)...)
	}
	return b
}

// listener is a Listener for a client, with routes for every host.
func listener(name string, routes []byte) []byte {
	host := append(append(text(1, "v"), text(2, "*")...), routes...)
	manager := nested(4, append(text(1, "r"), nested(2, host)...))
	manager = append(manager, nested(5, append(text(1, "router"), nested(4, any_(routerType, nil))...))...)
	return any_(listenerType, append(text(1, name), nested(19, nested(1, any_(managerType, manager)))...))
}

// route is a VirtualHost's route of a prefix to a cluster.
func route(prefix, cluster string) []byte {
	return nested(3, append(nested(1, text(1, prefix)), nested(2, text(1, cluster))...))
}

func regexRoute(regex, cluster string) []byte {
	return nested(3, append(nested(1, nested(10, text(2, regex))), nested(2, text(1, cluster))...))
}
