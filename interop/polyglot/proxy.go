// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"google.golang.org/grpc/interop/internal/programs"
	"google.golang.org/grpc/interop/testcerts"
)

var proxies = []*proxy{nginx, haproxy}

// legs returns the proxy's legs: our cases through it, and our load while the server behind it,
// or the proxy itself, is restarted.
func (p *proxy) legs() []leg {
	var legs []leg
	add := func(link string, secure bool, do func(*workshop, context.Context, *proxy, leg) row) {
		legs = append(legs, leg{name: "ours>" + p.name + ">ours " + link, secure: secure, do: func(ctx context.Context, w *workshop, l leg) row {
			return do(w, ctx, p, l)
		}})
	}
	add("plain", false, (*workshop).throughProxy)
	add("tls", true, (*workshop).throughProxy)
	add("restart behind it", false, (*workshop).restartBehindProxy)
	add("restart of it", false, (*workshop).restartOfProxy)
	return legs
}

// runProxy runs our client through the proxy to our server.
func (w *workshop) runProxy(ctx context.Context, p *proxy, r *report) {
	for _, l := range p.legs() {
		if !w.wants(l.name) || ctx.Err() != nil {
			continue
		}
		if lookFor([]string{p.tool}) != "" {
			r.leaveOut(p.name, p.tool+" is not on this machine")
			return
		}
		r.add(l.run(ctx, w))
	}
}

func (w *workshop) throughProxy(ctx context.Context, p *proxy, l leg) row {
	return w.twice(row{name: l.name, without: p.without}, func(m programs.Programs, only []string) ([]result, error) {
		g, err := w.passage(p, l)
		if err != nil {
			return nil, err
		}
		s, err := startServer(ctx, w.ourServer(ctx, m.Server, g.back), g.back)
		if err != nil {
			return nil, errors.Join(err, g.remove())
		}
		between, err := g.start(ctx)
		if err != nil {
			return nil, errors.Join(err, s.stop(), g.remove())
		}
		results, err := w.ourClient(ctx, m.Client, g.front, p.without, only)
		return results, errors.Join(err, between.stop(), s.stop(), g.remove())
	})
}

var nginx = &proxy{
	name:   "nginx",
	tool:   "nginx",
	gentle: "QUIT",
	config: func(dir string, front, back target) (string, error) {
		listen, pass := "", "grpc://"+back.addr()
		if front.certs != nil {
			listen = fmt.Sprintf(" ssl;\n    ssl_certificate %s;\n    ssl_certificate_key %s", front.certs.Cert, front.certs.Key)
			pass = fmt.Sprintf("grpcs://%s;\n      grpc_ssl_verify on;\n      grpc_ssl_trusted_certificate %s;\n      grpc_ssl_name %s",
				back.addr(), back.certs.CA, testcerts.ServerName)
		}
		return strings.NewReplacer("DIR", dir, "FRONT", front.addr(), "LISTEN", listen, "PASS", pass).Replace(`daemon off;
pid DIR/pid;
error_log stderr warn;
worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path DIR/body;
  proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi;
  scgi_temp_path DIR/scgi;
  client_max_body_size 0;
  underscores_in_headers on;
  server {
    listen FRONT http2LISTEN;
    location / {
      grpc_pass PASS;
    }
  }
}
`), nil
	},
	without: map[string]string{
		// With the published module's clients and servers the case also fails, about one time in ten.
		"timeout_on_sleeping_server": "it answers 502 for the server's reset, which may come before the client's own clock",
	},
	command: func(ctx context.Context, file string) *exec.Cmd {
		return exec.CommandContext(ctx, "nginx", "-p", filepath.Dir(file), "-e", "stderr", "-c", file)
	},
}

var haproxy = &proxy{
	name:   "haproxy",
	tool:   "haproxy",
	gentle: "USR1",
	config: func(dir string, front, back target) (string, error) {
		bind, server := "proto h2", "proto h2"
		if front.certs != nil {
			// haproxy wants certificate chain and key in one file.
			var both []byte
			for _, name := range []string{front.certs.Cert, front.certs.Key} {
				data, err := os.ReadFile(name)
				if err != nil {
					return "", err
				}
				both = append(both, data...)
			}
			pem := filepath.Join(dir, "server.pem")
			if err := os.WriteFile(pem, both, 0o600); err != nil {
				return "", err
			}
			bind = "ssl crt " + pem + " alpn h2"
			server = fmt.Sprintf("ssl alpn h2 verify required ca-file %s verifyhost %s", back.certs.CA, testcerts.ServerName)
		}
		return strings.NewReplacer("FRONT", front.addr(), "BACK", back.addr(), "BIND", bind, "SERVER", server).Replace(`global
  maxconn 1000
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend front
  bind FRONT BIND
  default_backend back
backend back
  server back BACK SERVER
`), nil
	},
	command: func(ctx context.Context, file string) *exec.Cmd {
		return exec.CommandContext(ctx, "haproxy", "-db", "-f", file)
	},
}
