// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// These are constants of RFC 1928 and RFC 1929.
const (
	socksVersion  = 5
	noLogin       = 0
	withLogin     = 2
	loginVersion  = 1
	connectTo     = 1
	isIPv4        = 1
	isName        = 3
	isIPv6        = 4
	longestString = 255
)

// socksErrors are the replies of RFC 1928, section 6.
var socksErrors = [...]string{
	1: "general SOCKS server failure",
	2: "connection not allowed by ruleset",
	3: "network unreachable",
	4: "host unreachable",
	5: "connection refused",
	6: "TTL expired",
	7: "command not supported",
	8: "address type not supported",
}

// socks asks the SOCKS server at the other end of nc to connect to addr. It reads no byte after the
// server's answer.
func socks(ctx context.Context, nc net.Conn, user *url.Userinfo, addr string) error {
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request, err := socksRequest(addr)
	if err != nil {
		return err
	}
	if err = login(nc, user); err == nil {
		err = ask(nc, request)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case !stop():
		return context.Cause(ctx)
	}
	return nil
}

// login agrees with the server on how to log in, and logs in.
func login(nc net.Conn, user *url.Userinfo) error {
	methods := []byte{noLogin}
	name, password := user.Username(), ""
	if user != nil {
		methods = []byte{noLogin, withLogin}
		password, _ = user.Password()
	}
	if len(name) > longestString || len(password) > longestString {
		return errors.New("the user or the password is too long for SOCKS")
	}
	answer, err := exchange(nc, append([]byte{socksVersion, byte(len(methods))}, methods...), 2)
	switch {
	case err != nil:
		return err
	case answer[0] != socksVersion:
		return errVersion(answer[0])
	case answer[1] == noLogin:
		return nil
	case answer[1] != withLogin || user == nil:
		return errors.New("it wants another way to log in")
	}
	b := append([]byte{loginVersion, byte(len(name))}, name...)
	b = append(append(b, byte(len(password))), password...)
	if answer, err = exchange(nc, b, 2); err != nil {
		return err
	}
	if answer[0] != loginVersion {
		return fmt.Errorf("it speaks version %d of the login with user and password, not %d", answer[0], loginVersion)
	}
	if answer[1] != 0 {
		return errors.New("it refuses the user or the password")
	}
	return nil
}

func errVersion(v byte) error {
	return fmt.Errorf("it speaks version %d of SOCKS, not %d", v, socksVersion)
}

// ask sends the request, and reads the answer to its end.
func ask(nc net.Conn, request []byte) error {
	head, err := exchange(nc, request, 5)
	if err != nil {
		return err
	}
	if head[0] != socksVersion {
		return errVersion(head[0])
	}
	if code := int(head[1]); code != 0 {
		if code < len(socksErrors) {
			return errors.New(socksErrors[code])
		}
		return fmt.Errorf("SOCKS reply %d", code)
	}
	rest := 0 // of the address that the server has bound, which begins with head[4], and the port
	switch head[3] {
	case isIPv4:
		rest = 4 - 1 + 2
	case isIPv6:
		rest = 16 - 1 + 2
	case isName:
		rest = int(head[4]) + 2
	default:
		return fmt.Errorf("its answer has an address of type %d", head[3])
	}
	return readFull(nc, make([]byte, rest))
}

func exchange(nc net.Conn, b []byte, n int) ([]byte, error) {
	if _, err := nc.Write(b); err != nil {
		return nil, err
	}
	answer := make([]byte, n)
	return answer, readFull(nc, answer)
}

// readFull fills p. Unlike io.ReadFull it fails also if an error comes with the last bytes: the connection may not
// return it again.
func readFull(nc net.Conn, p []byte) error {
	for read := 0; read < len(p); {
		n, err := nc.Read(p[read:])
		if read += n; err == io.EOF && read > 0 {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// socksRequest returns the request for a connection to addr.
func socksRequest(addr string) ([]byte, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("the port %q is no number", service)
	}
	b := []byte{socksVersion, connectTo, 0}
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && ip.Unmap().Is4():
		b = append(append(b, isIPv4), ip.Unmap().AsSlice()...)
	case err == nil && ip.Zone() == "":
		b = append(append(b, isIPv6), ip.AsSlice()...)
	case len(host) > longestString || host == "":
		return nil, fmt.Errorf("the name %q has a length that SOCKS can't say", host)
	default:
		b = append(append(b, isName, byte(len(host))), host...)
	}
	return append(b, byte(port>>8), byte(port)), nil
}
