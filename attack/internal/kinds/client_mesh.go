// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/wire"
)

// meshKinds are attacks on a client by a control plane that has told it of many clusters.
var meshKinds = []Kind{
	{
		Name: "client/xds/endpoints-one-by-one", Extras: true, Env: bootstrap, Work: viaControlPlane(20), Time: 4 * time.Second,
		About: "responses with the endpoints of one cluster each, where those of 500 are watched",
		Attack: mesh(500, func(c *attacker.Conn) error {
			for n := 0; !c.Over(); n++ {
				if err := first(c.Data(1, 0, response(n, endpointsType, endpoints(n%500, n))), c.Flush()); err != nil {
					return err
				}
			}
			return nil
		}, nil),
	},
	{
		Name: "client/lrs/names", Extras: true, Env: bootstrap, Work: viaControlPlane(20), Time: 5 * time.Second, Spate: 40 * mib,
		About: "a load reporting service that names 200,000 clusters once, and wants a report of them each millisecond (A47)",
		Attack: mesh(100, nil, func(c *attacker.Conn, id uint32) error {
			var names []byte
			for i := range 200_000 {
				names = append(names, text(1, fmt.Sprint("d", i))...)
			}
			interval := varint(2, uint64(time.Millisecond))
			return c.Data(id, 0, wire.AppendMessage(nil, 0, append(names, nested(2, interval)...)))
		}),
	},
	{
		Name: "client/lrs/again", Extras: true, Env: bootstrap, Work: viaControlPlane(20), Time: 5 * time.Second,
		About: "a load reporting service that wants reports of all clusters, and says so again and again",
		Attack: mesh(100, nil, func(c *attacker.Conn, id uint32) error {
			wants := wire.AppendMessage(nil, 0, append(varint(4, 1), nested(2, varint(2, uint64(time.Millisecond)))...))
			for !c.Over() {
				if err := first(c.Data(id, 0, repeated(wants)), c.Flush()); err != nil {
					return err
				}
			}
			return nil
		}),
	},
}

// mesh tells a client of n clusters, which it asks for by and by, on its first stream; then calls follows. Each
// other stream is one of load reports.
func mesh(n int, follows script, loads func(*attacker.Conn, uint32) error) attack {
	return serveStreams(func(c *attacker.Conn, id uint32) error {
		if err := c.Headers(id, 0, wire.Response()); err != nil {
			return err
		}
		if id != 1 {
			if loads == nil {
				return nil
			}
			return loads(c, id)
		}
		for round := range 10 {
			for _, m := range meshed(n, round) {
				if err := c.Data(id, 0, m); err != nil {
					return err
				}
			}
			if err := c.Flush(); err != nil {
				return err
			}
			c.Attacker().Sleep(100 * time.Millisecond)
		}
		if follows == nil {
			return nil
		}
		return follows(c)
	})
}

// meshed are the responses that tell of n clusters.
func meshed(n, version int) [][]byte {
	var routes []byte
	var clusters, places [][]byte
	for i := range n {
		routes = append(routes, route(fmt.Sprintf("/s%d/", i), fmt.Sprint("c", i))...)
		clusters = append(clusters, cluster(i))
		places = append(places, endpoints(i, 0))
	}
	routes = append(routes, route("/", "c0")...)
	return [][]byte{
		response(version, listenerType, listener("attack.test", routes)),
		response(version, clusterType, clusters...),
		response(version, endpointsType, places...),
	}
}

const (
	clusterType   = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointsType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// response is a DiscoveryResponse as a message of gRPC.
func response(version int, typ string, all ...[]byte) []byte {
	m := append(resources(typ, all...), text(1, fmt.Sprint(version))...)
	return wire.AppendMessage(nil, 0, append(m, text(5, fmt.Sprint(version))...))
}

// cluster is a Cluster with endpoints by EDS, and load reports to who told of it.
func cluster(i int) []byte {
	m := append(text(1, fmt.Sprint("c", i)), varint(2, 3)...)
	m = append(m, nested(3, nested(1, nested(3, nil)))...)
	return any_(clusterType, append(m, nested(42, nested(5, nil))...))
}

// endpoints is a ClusterLoadAssignment with one endpoint, whose weight tells versions apart.
func endpoints(i, version int) []byte {
	at := append(text(2, "127.0.0.1"), varint(3, 1)...)
	endpoint := nested(2, nested(1, nested(1, nested(1, at))))
	weight := nested(3, varint(1, uint64(1+version%1000)))
	locality := append(nested(1, text(1, "r")), append(endpoint, weight...)...)
	return any_(endpointsType, append(text(1, fmt.Sprint("c", i)), nested(2, locality)...))
}
