// SPDX-License-Identifier: Apache-2.0

package filters

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/metadata"
)

var logger = grpclog.Component("xds")

// clusterPrefix precedes the name of the cluster in a cookie (A60).
const clusterPrefix = "cluster:"

// affinity is the session filter of a route.
type affinity struct{ config *SessionConfig }

// Begin implements rpcconfig.Interceptor.
func (a *affinity) Begin(ctx context.Context, rpc rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	info := call.From(ctx)
	if info == nil || !inPath(rpc.Method, a.config.Path) {
		return next(ctx)
	}
	info.Session = true
	md, _ := metadata.FromOutgoingContext(ctx)
	came := a.read(md)
	if came != "" {
		hosts, cluster, _ := strings.Cut(came, ";")
		info.Hosts = strings.Split(hosts, ",")
		if name, ok := strings.CutPrefix(cluster, clusterPrefix); ok {
			info.ChooseCluster(name) // if the route no longer has the cluster, another server takes over the session
		}
	}
	st, err := next(ctx)
	if err != nil {
		return nil, err
	}
	return &session{Stream: st, config: a.config, info: info, came: came}, nil
}

// read returns the decoded value of the first cookie with the configured name. It returns "" if there is
// none, or if that is not valid.
func (a *affinity) read(md metadata.MD) string {
	for _, line := range md["cookie"] {
		for part := range strings.SplitSeq(line, ";") {
			name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
			if ok && name == a.config.Cookie {
				return decode(value)
			}
		}
	}
	return ""
}

// decode returns "" if the value does not name addresses. Logs must not show the contents of a cookie,
// which belong to a session. An error of base64 names only a position, but one of netip contains the whole
// text.
func decode(value string) string {
	text, err := base64.StdEncoding.DecodeString(strings.Trim(value, `"`))
	if err != nil {
		if logger.V(2) { // a client may do it with each RPC
			logger.Infof("stateful session: a cookie's value of %d bytes is not base64: %v", len(value), err)
		}
		return ""
	}
	hosts, _, _ := strings.Cut(string(text), ";")
	for host := range strings.SplitSeq(hosts, ",") {
		if _, err := netip.ParseAddrPort(host); err != nil {
			if logger.V(2) {
				logger.Infof("stateful session: a cookie's value of %d bytes names something that is no address", len(value))
			}
			return ""
		}
	}
	return string(text)
}

// inPath reports whether a request's path matches the path of a cookie (RFC 6265, section 5.1.4).
func inPath(request, path string) bool {
	rest, ok := strings.CutPrefix(request, path)
	return ok && (rest == "" || strings.HasSuffix(path, "/") || rest[0] == '/')
}

// session is a stream that adds the cookie to the response headers.
type session struct {
	rpcconfig.Stream
	config *SessionConfig
	info   *call.Info
	came   string // the decoded cookie of the request
}

// Header returns the headers. It adds a cookie that names the picked server, unless the request's cookie
// named that server already.
func (s *session) Header() (metadata.MD, error) {
	md, err := s.Stream.Header()
	picked := s.info.Picked()
	if err != nil || md == nil || len(picked) == 0 {
		return md, err
	}
	text := strings.Join(picked, ",") + ";" + clusterPrefix + s.info.Cluster
	if text == s.came {
		return md, nil
	}
	md = md.Copy()
	md.Append("set-cookie", s.cookie(text))
	return md, nil
}

func (s *session) cookie(text string) string {
	c := http.Cookie{
		Name: s.config.Cookie, Value: base64.StdEncoding.EncodeToString([]byte(text)), Quoted: true,
		Path: s.config.Path, HttpOnly: true,
	}
	out := c.String()
	if s.config.TTL > 0 {
		out += fmt.Sprintf("; Max-Age=%d", max(s.config.TTL/time.Second, 1)) // 0 would drop the cookie
	}
	return out
}

// SessionConfig is the configuration of the filter. The zero value does nothing.
type SessionConfig struct {
	Cookie string // the cookie's name; "" means that the filter does nothing
	Path   string // the path prefix of the RPCs that the cookie is for
	TTL    time.Duration
}
