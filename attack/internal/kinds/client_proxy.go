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
	{
		Name: "client/proxy/long-head", Env: proxied, Work: viaProxy(100), Short: true,
		About:  "a head of 16,000 bytes, and then the end: whatever reads it byte by byte pays for it",
		Attack: proxyOnce("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+bytesOf(60)+"\r\n", 245)),
	},
	{
		Name: "client/proxy/closes", Env: proxied, Work: viaProxy(100), Busy: failing,
		About:  "connections that the proxy closes when it is asked",
		Attack: proxyOnce(""),
	},
	{
		Name: "client/proxy/content-length", Env: proxied, Work: viaProxy(20), Busy: failing,
		About:  "403, and a body of 8 EiB, declared",
		Attack: proxy("HTTP/1.1 403 No\r\nContent-Length: 9223372036854775807\r\n\r\n", bytesOf(16<<10), 0),
	},
	{
		Name: "client/proxy/two-answers", Env: proxied, Work: viaProxy(20), Busy: failing,
		About:  "200 without end: the second is the beginning of the tunnel",
		Attack: proxy("", strings.Repeat("HTTP/1.1 200 OK\r\n\r\n", 600), 0),
	},
	{
		Name: "client/proxy/unasked", Env: proxied, Work: viaProxy(20), Busy: failing,
		About: "the answer, and 64 KB in the tunnel, before the proxy is asked for one",
		Attack: accept(func(_ *attacker.Attacker, nc net.Conn) error {
			return say(nc, "HTTP/1.1 200 OK\r\n\r\n"+bytesOf(64<<10))
		}),
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

// proxyOnce answers each request for a tunnel with a text, and ends the connection.
func proxyOnce(text string) attack {
	return accept(func(_ *attacker.Attacker, nc net.Conn) error {
		err := readRequest(nc)
		if err == nil {
			err = say(nc, text)
		}
		if err != nil {
			return err
		}
		return errAgain
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
