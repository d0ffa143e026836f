// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"google.golang.org/grpc/resolver"
)

// maxProxyReply bounds the head of a proxy's answer, in bytes.
const maxProxyReply = 16 << 10

// How much of a refusal's body is part of the error, in bytes, and how long to wait for it.
const (
	maxProxyReason      = 1 << 10
	proxyReasonPatience = time.Second
)

// ProxyDialer returns a DialFunc that asks an HTTP proxy for a tunnel to each address
// (CONNECT, RFC 9110 section 9.3.6). A user and password in the proxy's URL are sent as
// Basic credentials. Unix sockets are dialed without the proxy.
func ProxyDialer(proxy *url.URL, userAgent string) DialFunc {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "unix-abstract:") {
			return DialDirect(ctx, addr)
		}
		request, err := tunnelRequest(proxy, addr, userAgent)
		if err != nil {
			return nil, fmt.Errorf("proxy %s: %w", proxy.Host, err)
		}
		nc, err := systemDialer.DialContext(ctx, "tcp", proxyAddress(proxy))
		if err != nil {
			return nil, err
		}
		if err := tunnel(ctx, nc, request); err != nil {
			nc.Close()
			return nil, fmt.Errorf("proxy %s: %w", proxy.Host, err)
		}
		return nc, nil
	}
}

// DialDirect dials an address without a proxy. An address with a scheme is a unix socket's.
func DialDirect(ctx context.Context, addr string) (net.Conn, error) {
	return dial(ctx, resolver.Address{Addr: addr}, nil)
}

// proxyAddress returns where the proxy listens, with the usual port of its scheme if it names none.
func proxyAddress(proxy *url.URL) string {
	if proxy.Port() != "" {
		return proxy.Host
	}
	port := "80"
	if proxy.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// tunnelRequest returns the request for a tunnel to addr. Both may come from others than the program: an addr that
// would end the request line or a field is refused.
func tunnelRequest(proxy *url.URL, addr, userAgent string) ([]byte, error) {
	authority, err := tunnelAuthority(addr)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n", authority, authority, oneLine.Replace(userAgent))
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		credential := base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))
		fmt.Fprintf(&b, "Proxy-Authorization: Basic %s\r\n", credential)
	}
	b.WriteString("\r\n")
	return b.Bytes(), nil
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// tunnelAuthority returns addr as the authority-form of a request (RFC 9112, section 3.2.3): in ASCII, and without the
// zone of an IPv6 address, which is the name of an interface here (RFC 6874).
func tunnelAuthority(addr string) (string, error) {
	if zone := strings.IndexByte(addr, '%'); zone > 0 && addr[0] == '[' {
		if end := strings.IndexByte(addr, ']'); end > zone {
			addr = addr[:zone] + addr[end:]
		}
	}
	ascii := true
	for i := range len(addr) {
		c := addr[i]
		if c <= ' ' || c == 0x7f {
			return "", fmt.Errorf("address %q has white space or a control character", addr)
		}
		ascii = ascii && c < 0x80
	}
	if ascii {
		return addr, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		host, port = addr, ""
	}
	if host, err = idna.ToASCII(host); err != nil {
		return "", fmt.Errorf("address %q: %w", addr, err)
	}
	if port == "" {
		return host, nil
	}
	return net.JoinHostPort(host, port), nil
}

// tunnel asks the proxy for the tunnel and reads its answer. ctx bounds that.
func tunnel(ctx context.Context, nc net.Conn, request []byte) error {
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := nc.Write(request); err != nil {
		return err
	}
	head, err := readHead(nc)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("reading server HTTP response: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return refusedTunnel(nc, head)
	}
	if !stop() {
		return context.Cause(ctx)
	}
	return nil
}

// refusedTunnel returns the error for a proxy that does not connect. It quotes the status and the body of
// the answer, without the header fields.
func refusedTunnel(nc net.Conn, head []byte) error {
	_ = nc.SetReadDeadline(time.Now().Add(proxyReasonPatience))
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(head), nc)), nil)
	if err != nil {
		return fmt.Errorf("reading server HTTP response: %w", err)
	}
	defer resp.Body.Close()
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxProxyReason)) // as far as it comes
	return fmt.Errorf("failed to do connect handshake, response: %q", fmt.Sprintf("%s %s\r\n\r\n%s", resp.Proto, resp.Status, reason))
}

// readHead reads up to the empty line that ends the head of the answer, and not a byte
// beyond: what follows belongs to the server, and a connection that holds bytes read ahead
// could not be read the fast way. RFC 9110: the answer has no content, whatever it says.
func readHead(nc net.Conn) ([]byte, error) {
	var head []byte
	look := make([]byte, 512)
	for !isHead(head) {
		if len(head) == maxProxyReply {
			return nil, errors.New("the head of its answer is too long")
		}
		n, err := lookAhead(nc, look)
		if err == nil {
			n, err = nc.Read(look[:headLeft(head, look[:n])]) // an error that comes with the last byte is one of the tunnel
		}
		head = append(head, look[:n]...)
		if err != nil {
			return nil, fmt.Errorf("reading server HTTP response: %w", err)
		}
	}
	return head, nil
}

// headLeft returns how many bytes of more belong to the head. more follows head and has arrived. The result
// is at least 1 if more is not empty.
func headLeft(head, more []byte) int {
	more = more[:min(len(more), maxProxyReply-len(head))]
	before := len(head)
	head = append(bytes.Clone(head[max(0, before-3):]), more...) // an empty line may begin in it
	before = min(before, 3)
	for i := before + 1; i < len(head); i++ {
		if isHead(head[:i]) {
			return i - before
		}
	}
	return len(more)
}

// isHead reports whether b ends with an empty line.
func isHead(b []byte) bool {
	return bytes.HasSuffix(b, []byte("\n\r\n")) || bytes.HasSuffix(b, []byte("\n\n"))
}

// Tunnel asks the HTTP proxy at the other end of nc for a tunnel to addr, as ProxyDialer does.
func Tunnel(ctx context.Context, nc net.Conn, proxy *url.URL, addr, userAgent string) error {
	request, err := tunnelRequest(proxy, addr, userAgent)
	if err != nil {
		return err
	}
	return tunnel(ctx, nc, request)
}

// DialSystem dials TCP in the way that is used when the program brings no dialer.
func DialSystem(ctx context.Context, addr string) (net.Conn, error) {
	return systemDialer.DialContext(ctx, "tcp", addr)
}
