// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bufio"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
)

// proxied tells a client that the attacker is its proxy.
var proxied = []string{"HTTPS_PROXY=http://" + orders.Here}

// proxyKinds are attacks on a client by the proxy that it asks for a tunnel (RFC 9110, 9.3.6).
var proxyKinds = []Kind{
	{
		Name: "client/proxy/endless-field", Env: proxied, Work: viaProxy(20), Short: true,
		About:  "a field of the answer that never ends",
		Attack: proxy("HTTP/1.1 200 OK\r\nX: ", bytesOf(16<<10), 0),
	},
	{
		Name: "client/proxy/endless-fields", Env: proxied, Work: viaProxy(20),
		About:  "fields of the answer without end",
		Attack: proxy("HTTP/1.1 200 OK\r\n", strings.Repeat("X: "+bytesOf(60)+"\r\n", 250), 0),
	},
	{
		Name: "client/proxy/endless-status", Env: proxied, Work: viaProxy(20),
		About:  "a status line that never ends",
		Attack: proxy("HTTP/1.1 200 ", bytesOf(16<<10), 0),
	},
	{
		Name: "client/proxy/informational", Env: proxied, Work: viaProxy(20),
		About:  "100 Continue without end",
		Attack: proxy("", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 600), 0),
	},
	{
		Name: "client/proxy/refused", Env: proxied, Work: viaProxy(20),
		About:  "407, and a body without end",
		Attack: proxy("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n", "4000\r\n"+bytesOf(16<<10)+"\r\n", 0),
	},
	{
		Name: "client/proxy/chunks", Env: proxied, Work: viaProxy(20),
		About:  "407, and a body of chunks of one byte with extensions",
		Attack: proxy("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("1;"+bytesOf(60)+"\r\nx\r\n", 200), 0),
	},
	{
		Name: "client/proxy/drip", Env: proxied, Work: viaProxy(100), Time: 3 * time.Second,
		About:  "a byte of the answer every 150 ms, on 100 connections",
		Attack: proxy("HTTP/1.1 200 OK\r\nX: ", "x", 150*time.Millisecond),
	},
	{
		Name: "client/proxy/silent", Env: proxied, Work: viaProxy(100),
		About:  "100 connections on which the proxy never answers",
		Attack: accept(func(*attacker.Attacker, net.Conn) error { return nil }),
	},
}

// viaProxy is work of callers on n channels to a host behind the proxy.
func viaProxy(n int) *orders.Work {
	return &orders.Work{Target: "passthrough:///attack.invalid:443", Method: orders.Echo, Callers: 1, Channels: n, Deadline: 2 * time.Second}
}

// proxy answers each request for a tunnel with a beginning, and a piece again and again.
func proxy(begin, piece string, pause time.Duration) attack {
	return accept(func(a *attacker.Attacker, nc net.Conn) error {
		if err := readRequest(nc); err != nil {
			return err
		}
		err := say(nc, begin)
		for err == nil && !a.Over() {
			err = say(nc, piece)
			if pause > 0 && !a.Sleep(pause) {
				return nil
			}
		}
		return err
	})
}

// readRequest reads the head of a request.
func readRequest(nc net.Conn) error {
	br := bufio.NewReader(nc)
	for {
		line, err := br.ReadString('\n')
		if err != nil || strings.TrimSpace(line) == "" {
			return err
		}
	}
}
