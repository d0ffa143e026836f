// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// replaceAll replaces in pairs.
func replaceAll(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }

// dialQuick is a channel, or why there is none.
func dialQuick(p *probe.P, target string) (*grpc.ClientConn, error) {
	cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()), quick)
	if err == nil {
		p.Cleanup(func() { _ = cc.Close() })
	}
	return cc, err
}

// proxyAnswers are what a proxy may answer that opens no tunnel, or one that is of no use.
var proxyAnswers = map[string]string{
	"400":                     "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
	"404 without a length":    "HTTP/1.1 404 Not Found\r\n\r\nnothing here",
	"429":                     "HTTP/1.1 429 Slow\r\nRetry-After: 5\r\nContent-Length: 4\r\n\r\nslow",
	"503 html":                "HTTP/1.1 503 No\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>",
	"302":                     "HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\nContent-Length: 0\r\n\r\n",
	"100 and end":             "HTTP/1.1 100 Continue\r\n\r\n",
	"100 and 403":             "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n",
	"101":                     "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	"999":                     "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
	"no number":               "HTTP/1.1 OK\r\n\r\n",
	"HTTP/1.0 403":            "HTTP/1.0 403 No\r\n\r\n",
	"HTTP/2 403":              "HTTP/2.0 403 No\r\n\r\n",
	"a line feed alone":       "HTTP/1.1 403 No\nContent-Length: 0\n\n",
	"a field without a colon": "HTTP/1.1 403 No\r\nnonsense\r\n\r\n",
	"two lengths":             "HTTP/1.1 403 No\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
	"a length that is wrong":  "HTTP/1.1 403 No\r\nContent-Length: 50\r\n\r\nshort",
	"a head without an end":   "HTTP/1.1 200 " + strings.Repeat("x", 100),
	"SSH":                     "SSH-2.0-OpenSSH_9.9\r\n",
	"HTTP/2 frames":           "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
	"407 and a new line":      "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 8\r\n\r\nwho\nare?",
	"403 with bytes":          "HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\n\xff\x00\x01x",
}

// proxyTargets are proxies, as a variable names them, and what is asked of them.
var proxyTargets = map[string]string{
	"http": "http://PROXY", "without a scheme": "PROXY", "with a path": "http://PROXY/path", "upper case": "HTTP://PROXY", "https": "https://PROXY", "socks": "socks5://PROXY",
	"an unknown scheme": "nope://PROXY", "a user": "http://user:word@PROXY", "a user with a colon": "http://us%3Aer:word@PROXY", "an empty user": "http://:word@PROXY",
	"an empty word": "http://user:@PROXY", "no host": "http://", "a space": "http:// PROXY", "a port that is none": "http://127.0.0.1:x",
}

// moreProxyProbes are about proxies that answer oddly, and are named oddly.
func moreProxyProbes() []probe.Probe {
	var out []probe.Probe
	for name, reply := range proxyAnswers {
		out = append(out, probe.Probe{Name: "proxy answers/" + name, Alone: true, Run: func(p *probe.P) {
			addr := httpProxy(p, reply, "")
			_ = os.Setenv("HTTPS_PROXY", "http://"+addr)
			end := call(p.Context(), channelTo(p, "shop.example:443"))
			// What follows the proxy's name is for people.
			p.Printf("%s", strings.Join(strings.SplitN(strings.ReplaceAll(end, addr, "PROXY"), ":", 3)[:2], ":"))
		}})
	}
	for name, value := range proxyTargets {
		for _, variable := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"} {
			if variable != "HTTPS_PROXY" && name != "http" {
				continue
			}
			out = append(out, probe.Probe{Name: "proxy named/" + variable + ", " + name, Alone: true, Run: func(p *probe.P) {
				s := server(p)
				addr := httpProxy(p, "", s)
				_ = os.Setenv(variable, strings.ReplaceAll(value, "PROXY", addr))
				cc, err := dialQuick(p, "passthrough:///0.0.0.0:"+portOf(s))
				if err != nil {
					p.Printf("%s", strings.ReplaceAll(rig.Err(err), addr, "PROXY"))
					return
				}
				end := briefly(p, cc)
				p.Printf("%s", strings.ReplaceAll(strings.ReplaceAll(end, addr, "PROXY"), s, "SERVER"))
			}})
		}
	}
	return out
}
