// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"compress/gzip"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// bombKinds are attacks with compressed messages.
var bombKinds = []Kind{
	{
		Name: "server/bomb/many-streams", Serve: limited, Spate: 100 * 4 * mib, Short: true,
		About:  "60 KB that gzip blows up to 60 MB, on 100 streams at a time",
		Attack: flood(1, true, bombsOn(100, orders.Sink, bomb(60*mib), true)),
	},
	{
		Name: "server/bomb/many-streams-stay", Serve: limited, Own: 20 * 4 * mib, Spate: 100 * 4 * mib,
		About:  "4 KB that gzip blows up to 4 MiB, again and again, on 20 streams that stay open and are read",
		Attack: flood(1, true, bombsOn(20, orders.Sink, bomb(4*mib-8), false)),
	},
	{
		Name: "server/bomb/handed-over", Serve: orders.Serve{HandedOver: true, MaxStreams: 100}, Own: 20 * 4 * mib, Spate: 100 * 4 * mib,
		About:  "the same for streams whose handlers have handed them over",
		Attack: flood(1, true, bombsOn(20, orders.Sink, bomb(4*mib-8), false)),
	},
	{
		Name: "server/bomb/tiny", Serve: limited,
		About:  "messages of nothing, compressed, which take a decompressor each, on a stream that is read",
		Attack: flood(2, true, bombsOn(10, orders.Sink, zipped(nil), false)),
	},
	{
		Name: "server/bomb/members", Serve: limited,
		About:  "messages of 1,000 empty members of gzip each (RFC 1952, 2.2)",
		Attack: flood(2, true, bombsOn(10, orders.Sink, bytes.Repeat(zipped(nil), 1000), true)),
	},
	{
		Name: "server/bomb/header", Serve: limited,
		About:  "gzip with a name of 60 KB that does not end (RFC 1952, 2.3.1)",
		Attack: flood(2, true, bombsOn(1, orders.Sink, append([]byte{0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0xff}, bytesOf(60<<10)...), true)),
	},
	{
		Name: "server/bomb/stored", Serve: limited,
		About:  "gzip of stored blocks of length 0, 60 KB of them (RFC 1951, 3.2.4)",
		Attack: flood(2, true, bombsOn(1, orders.Sink, append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 12<<10)...), true)),
	},
	{
		Name: "server/bomb/no-encoding", Serve: limited,
		About: "messages that are said to be compressed in calls that name no encoding",
		Attack: flood(2, true, func(c *attacker.Conn) error {
			return message(wire.Request(orders.Sink), wire.AppendMessage(nil, 1, bomb(4*mib-8)))(c)
		}),
	},
	{
		Name: "client/bomb/many-streams", Work: callers(100), Own: 100 * 4 * mib, Spate: 100 * 4 * mib,
		About:  "60 KB that gzip blows up to 60 MB in the answers to 100 callers",
		Attack: serveStreams(begin(wire.AppendMessage(nil, 1, bomb(60*mib)), gzipEncoding)),
	},
	{
		Name: "client/bomb/members", Work: callers(10),
		About:  "answers of 1,000 empty members of gzip each (RFC 1952, 2.2)",
		Attack: serveStreams(begin(wire.AppendMessage(nil, 1, bytes.Repeat(zipped(nil), 1000)), gzipEncoding)),
	},
}

// bombsOn opens n streams on a connection and sends a compressed message on each. Then it resets them, or, without
// reset, goes on sending the message on each until the connection is over.
func bombsOn(n int, method string, m []byte, reset bool) script {
	block, body := wire.Request(method, gzipEncoding), wire.AppendMessage(nil, 1, m)
	return func(c *attacker.Conn) error {
		ids, err := openBlock(c, n, block)
		if err != nil {
			return err
		}
		for round := 0; round == 0 || !reset && !c.Over(); round++ {
			for _, id := range ids {
				if err := c.Data(id, 0, body); err != nil {
					return err
				}
			}
			if len(ids) == 0 {
				return nil
			}
		}
		for _, id := range ids {
			if err := c.Reset(id, wire.Cancel); err != nil {
				return err
			}
		}
		return nil
	}
}

// zipped is what gzip makes of b.
func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a Buffer takes everything
	_ = z.Close()
	return out.Bytes()
}
