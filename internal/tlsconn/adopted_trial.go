// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"sync"
)

// gatherable reports whether tls.Conn sends as sending.go expects. It finds out once, at the
// first connection that is adopted.
var gatherable = sync.OnceValue(func() bool { return gatherTest() == nil })

// gatherTest runs traffic over adopted connections in memory, for each version of TLS.
func gatherTest() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if err := refusal(); err != nil {
		return err
	}
	if !findSending() {
		return errors.New("tls.Conn sends with other fields")
	}
	cert, err := trialCertificate()
	if err != nil {
		return err
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if err := gatherTrial(trialConfig(cert, version)); err != nil {
			return fmt.Errorf("%s: %w", tls.VersionName(version), err)
		}
	}
	return nil
}

func gatherTrial(config *tls.Config) error {
	x, y := newMemSockets()
	server := &adopted{Conn: x, tls: tls.Server(x, config), sock: x}
	client := &adopted{Conn: y, tls: tls.Client(y, config), sock: y}
	defer server.Close()
	defer client.Close()
	shaken := make(chan error, 1)
	go func() {
		err := server.tls.Handshake()
		if err != nil {
			x.Close() // for client not to wait
		}
		shaken <- err
	}()
	err := client.tls.Handshake()
	if err != nil {
		y.Close()
	}
	if err := errors.Join(err, <-shaken); err != nil {
		return err
	}
	for _, a := range []*adopted{server, client} {
		a.state.Store(promising)
		if err := a.shake(); err != nil {
			return err
		}
	}
	for _, size := range []int{1, 20 << 10, 150 << 10} {
		if err := errors.Join(gatherMessage(server, client, size), gatherMessage(client, server, size)); err != nil {
			return err
		}
	}
	return nil
}

// gatherMessage sends size bytes, of which the first waits to be sent with the others.
func gatherMessage(from, to *adopted, size int) error {
	want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
	s := sendingOf(from.tls)
	s.lock.Lock()
	from.gather(s, 1<<10)
	begin := &(*from.p)[0]
	s.lock.Unlock()
	out := from.sock.(*memSocket).out
	before := len(out.b)
	if n, err := from.tls.Write(want[:1]); n != 1 || err != nil || len(out.b) > before ||
		len(*s.buf) < recordHeader+n || &(*s.buf)[0] != begin {
		return fmt.Errorf("records are not gathered: %w", err)
	}
	if n, err := from.TryWrite(want[1:]); n != size-1 || err != nil || *s.gathers || *s.buf != nil {
		return fmt.Errorf("wrote %d of %d bytes: %w", n, size, err)
	}
	got := make([]byte, size)
	if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("other bytes arrived than were sent: %w", err)
	}
	if !to.Drained() || to.in.Memory() != 0 {
		return errors.New("a buffer is still held")
	}
	return nil
}
