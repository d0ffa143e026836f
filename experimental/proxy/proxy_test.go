// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/proxy"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testservice"
	"google.golang.org/grpc/internal/testutils"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// fake is a proxy in front of one server, whatever it is asked for. It notes that.
type fake struct {
	addr   string
	server string
	asked  chan string
}

// start has greet read what is asked for of each connection, and answer.
func start(t *testing.T, server string, config *tls.Config, greet func(net.Conn) (string, error)) *fake {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{addr: lis.Addr().String(), server: server, asked: make(chan string, 10)}
	if config != nil {
		lis = tls.NewListener(lis, config)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			go f.serve(c, greet)
		}
	}()
	t.Cleanup(func() { lis.Close(); <-served })
	return f
}

func (f *fake) serve(c net.Conn, greet func(net.Conn) (string, error)) {
	defer c.Close()
	addr, err := greet(c)
	f.asked <- addr
	if err != nil {
		return
	}
	to, err := net.Dial("tcp", f.server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, c); to.Close() }()
	_, _ = io.Copy(c, to)
}

func greetHTTP(c net.Conn) (string, error) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return "", err
	}
	user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
	_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	return fmt.Sprintf("%s for %s:%s", r.Host, user, password), err
}

// greetSOCKS wants a login if there is one.
func greetSOCKS(c net.Conn) (string, error) {
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(c, b)
		return b
	}
	user, password := "", ""
	if n := read(2)[1]; len(read(int(n))) == 1 {
		_, _ = c.Write([]byte{5, 0})
	} else {
		_, _ = c.Write([]byte{5, 2})
		user = string(read(int(read(2)[1])))
		password = string(read(int(read(1)[0])))
		_, _ = c.Write([]byte{1, 0})
	}
	host := ""
	switch kind := read(4)[3]; kind {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	case 4:
		host = net.IP(read(16)).String()
	}
	port := binary.BigEndian.Uint16(read(2))
	if host == "refuse" {
		_, err := c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return host, err
	}
	_, err := c.Write([]byte{5, 0, 0, 3, 2, 'a', 'b', 0, 0})
	return fmt.Sprintf("%s:%d for %s:%s", host, port, user, password), err
}

// A channel goes through the proxy of its option, which resolves the names.
func TestWishProxyOfOneChannel(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{})
	cert, roots := testutils.Certificate(t)
	secure := &tls.Config{Certificates: []tls.Certificate{cert}}
	for _, c := range []struct {
		name, scheme, login, target, want string
		config                            *tls.Config
		greet                             func(net.Conn) (string, error)
	}{
		{"http", "http", "", "only-there:1", "only-there:1 for :", nil, greetHTTP},
		{"http, login", "http", "me:secret@", "passthrough:///10.0.0.1:2", "10.0.0.1:2 for me:secret", nil, greetHTTP},
		{"https", "https", "me:secret@", "only-there", "only-there:443 for me:secret", secure, greetHTTP},
		{"socks5", "socks5", "", "only-there:1", "only-there:1 for :", nil, greetSOCKS},
		{"socks5, login", "socks5", "me:secret@", "passthrough:///10.0.0.1:2", "10.0.0.1:2 for me:secret", nil, greetSOCKS},
		{"socks5, IPv6", "socks5", "", "passthrough:///[2001:db8::1]:2", "2001:db8::1:2 for :", nil, greetSOCKS},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, s.Addr, c.config, c.greet)
			u, err := url.Parse(c.scheme + "://" + c.login + f.addr)
			if err != nil {
				t.Fatal(err)
			}
			through, err := proxy.Through(u, &tls.Config{RootCAs: roots, ServerName: "test.server"})
			if err != nil {
				t.Fatal(err)
			}
			cc, err := grpc.NewClient(c.target, through, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer cc.Close()
			if _, err := testpb.NewTestServiceClient(cc).EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil {
				t.Fatal(err)
			}
			if got := <-f.asked; got != c.want {
				t.Errorf("the proxy was asked for %q, want %q", got, c.want)
			}
		})
	}
}

// What a proxy refuses is an error that names the proxy, and not its password.
func TestProxyRefuses(t *testing.T) {
	f := start(t, "", nil, greetSOCKS)
	u := &url.URL{Scheme: "socks5", Host: f.addr, User: url.UserPassword("me", "secret")}
	through, err := proxy.Through(u, nil)
	if err != nil {
		t.Fatal(err)
	}
	cc, err := grpc.NewClient("refuse:1", through, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	_, err = testpb.NewTestServiceClient(cc).EmptyCall(testservice.Context(t), &testpb.Empty{})
	if err == nil || !strings.Contains(err.Error(), "proxy "+f.addr+": connection refused") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
	for _, u := range []*url.URL{{Scheme: "ftp", Host: "a"}, {Scheme: "http"}} {
		if _, err := proxy.Through(u, nil); err == nil {
			t.Errorf("%v is taken for a proxy", u)
		}
	}
}

// An option with a proxy, for one channel.
func ExampleThrough() {
	through, err := proxy.Through(&url.URL{Scheme: "socks5", Host: "proxy.example.com"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	cc, err := grpc.NewClient("orders.example.com:443", through, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cc.Close()
	fmt.Println(cc.GetState())
	// Output: IDLE
}
