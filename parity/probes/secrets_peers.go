// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// peerWays have the other end send what no client or server of gRPC does.
func peerWays() []secretWay {
	answer := func(fields ...string) func(*watch) {
		return func(w *watch) {
			addr := rig.RawServer(w.P, func(r *rig.Raw) {
				for {
					req, err := r.AcceptAll()
					if err != nil {
						return
					}
					r.Headers(req.ID, true, fields...)
				}
			})
			w.call(w.Context(), channelTo(w.P, addr, w.dialOptions()...), grpc.PerRPCCredentials(tokenOf("authorization", secondSecret)))
		}
	}
	ask := func(changes ...string) func(*watch) {
		return func(w *watch) {
			s := w.pair(nil)
			r := rig.RawClient(w.P, s.Listener.Addr().String())
			r.Headers(1, true, rig.RequestFields(changes...)...)
			defer r.UntilQuiet(300 * time.Millisecond)()
			for {
				if _, err := r.Next(); err != nil {
					return
				}
			}
		}
	}
	good := []string{":status", "200", "content-type", "application/grpc"}
	return []secretWay{
		{"peer/answer, status text", nil, answer(append(good, "grpc-status", "5", "grpc-message", secret)...)},
		{"peer/answer, bad status", nil, answer(append(good, "grpc-status", secret)...)},
		{"peer/answer, bad details", nil, answer(append(good, "grpc-status", "5", "grpc-status-details-bin", secret)...)},
		{"peer/answer, bad binary", nil, answer(append(good, "grpc-status", "0", "x-bin", secret+"!")...)},
		{"peer/answer, bad value", nil, answer(append(good, "grpc-status", "0", "x", secret+"\x01")...)},
		{"peer/answer, bad key", nil, answer(append(good, "grpc-status", "0", secret+" x", "v")...)},
		{"peer/answer, bad encoding", nil, answer(append(good, "grpc-status", "0", "grpc-encoding", secret)...)},
		{"peer/answer, cookie", nil, answer(append(good, "grpc-status", "0", "set-cookie", secret)...)},
		{"peer/answer of HTTP", nil, answer(":status", "401", "content-type", "text/html", "www-authenticate", secret)},
		{"peer/answer, content type", nil, answer(":status", "200", "content-type", secret)},
		{"peer/answer, pushback", nil, answer(append(good, "grpc-status", "14", "grpc-retry-pushback-ms", secret)...)},
		{"peer/answer, load report", nil, answer(append(good, "grpc-status", "0", "endpoint-load-metrics-bin", secret)...)},
		{"peer/GOAWAY", nil, func(w *watch) {
			addr := rig.RawServer(w.P, func(r *rig.Raw) {
				if _, err := r.AcceptAll(); err == nil {
					_ = r.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte(secret))
				}
			})
			w.call(w.Context(), channelTo(w.P, addr, w.dialOptions()...))
		}},
		{"peer/not HTTP/2", nil, func(w *watch) {
			addr := rig.ConnServer(w.P, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 "+secret+"\r\n\r\n"+secret) })
			w.call(w.Context(), channelTo(w.P, addr, w.dialOptions()...))
		}},
		{"peer/request, bad value", nil, ask("authorization", secret+"\x01")},
		{"peer/request, bad binary", nil, ask("token-bin", secret+"!")},
		{"peer/request, bad key", nil, ask(secret+" x", "v")},
		{"peer/request, bad timeout", nil, ask("grpc-timeout", secret)},
		{"peer/request, bad encoding", nil, ask("grpc-encoding", secret)},
		{"peer/request, content type", nil, ask("content-type", secret)},
		{"peer/request, path", nil, ask(":path", secret)},
		{"peer/request, method of HTTP", nil, ask(":method", secret)},
		{"peer/request, authority", nil, ask(":authority", strings.ToLower(secret))},
		{"peer/request, two hosts", nil, ask(":authority", strings.ToLower(secret), "host", strings.ToLower(secondSecret))},
		{"peer/request, unknown pseudo-header", nil, ask(":"+strings.ToLower(secret), secondSecret)},
		{"peer/request, connection", nil, ask("connection", secret)},
		{"peer/request, authorization", nil, ask("authorization", secret)},
		{"peer/request not of HTTP/2", nil, func(w *watch) {
			s := w.pair(nil)
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
			_, _ = io.WriteString(conn, "GET /"+secret+" HTTP/1.1\r\nAuthorization: "+secondSecret+"\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn)
		}},
	}
}

// proxyWays have a password for a proxy.
func proxyWays() []secretWay {
	var out []secretWay
	through := func(name, reply string) {
		out = append(out, secretWay{"proxy/" + name, nil, func(w *watch) {
			_ = os.Setenv("HTTPS_PROXY", "http://user:"+secret+"@"+httpProxy(new(probe.P), reply, server(w.P)))
			cc := channelTo(w.P, "shop.example:443", w.dialOptions()...)
			w.call(w.Context(), cc, grpc.PerRPCCredentials(tokenOf("authorization", secondSecret)))
			w.print("ClientConn", cc)
		}})
	}
	through("that connects", "")
	through("407", "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 3\r\n\r\nwho")
	through("403", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
	through("a redirection", "HTTP/1.1 302 Found\r\nLocation: http://x\r\nContent-Length: 0\r\n\r\n")
	through("nonsense", "nonsense\r\n\r\n")
	for name, url := range map[string]string{
		"that is not there": "http://user:" + secret + "@127.0.0.1:1", "without a host": "http://user:" + secret + "@",
		"of a bad URL": "http://user:" + secret + "@[::1", "of a bad port": "http://user:" + secret + "@127.0.0.1:x",
		"of a bad escape": "http://user:" + secret + "%zz@127.0.0.1:1", "of another scheme": "ftp://user:" + secret + "@127.0.0.1:1",
		"without a scheme": "user:" + secret + "@127.0.0.1:1",
	} {
		out = append(out, secretWay{"proxy/" + name, []string{"HTTPS_PROXY=" + url}, func(w *watch) {
			cc := channelTo(w.P, "dns:///shop.example:443", w.dialOptions()...)
			w.call(w.Context(), cc)
		}})
	}
	return out
}
