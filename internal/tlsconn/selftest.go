// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"sync"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// releasable reports whether tls.Conn is as layout.go expects. It finds out once, at
// the first connection.
var releasable = sync.OnceValue(func() bool { return refusal() == nil })

var refusal = sync.OnceValue(selfTest)

// StoodAside says why the buffers of crypto/tls are left alone with this version of Go, so
// that idle connections hold them; nil if they are not. That is found out with the first
// connection, or by this call.
func StoodAside() error { return refusal() }

// selfTest runs traffic over a connection in memory whose buffers are taken away
// at every opportunity, for each version of TLS. It takes a few milliseconds.
func selfTest() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if !findOffsets() { // nothing below may run then
		return errors.New("tls.Conn has other fields")
	}
	cert, err := trialCertificate()
	if err != nil {
		return err
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if err := trial(cert, version); err != nil {
			return fmt.Errorf("%s: %w", tls.VersionName(version), err)
		}
	}
	return nil
}

func trialCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func trial(cert tls.Certificate, version uint16) error {
	a, b := newMemSockets()
	defer a.Close()
	server := &Conn{raw: a, sock: a, sockW: a, release: true}
	config := &tls.Config{
		Certificates:       []tls.Certificate{cert},
		InsecureSkipVerify: true, // both ends are in this function
		MinVersion:         version,
		MaxVersion:         version,
		CurvePreferences:   []tls.CurveID{tls.CurveP256}, // the cheapest
	}
	server.start(config, true)
	client := &Conn{raw: b, sock: b, sockW: b, release: true}
	client.start(config, false)
	defer server.Close()
	defer client.Close()

	shaken := make(chan error, 1)
	go func() {
		err := server.HandshakeContext(context.Background())
		if err != nil {
			server.Close() // for client not to wait
		}
		shaken <- err
	}()
	err := client.HandshakeContext(context.Background())
	if err != nil {
		b.Close()
	}
	if err := errors.Join(err, <-shaken); err != nil {
		return err
	}
	for _, most := range []int{0, 4000} {
		a.most, b.most = most, most
		for _, size := range []int{1, 100, 20 << 10, 150 << 10} {
			if err := errors.Join(trialMessage(client, server, size), trialMessage(server, client, size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// trialMessage sends size bytes and checks what arrives and what stays behind.
func trialMessage(from, to *Conn, size int) error {
	want := make([]byte, size)
	for i := range want {
		want[i] = byte(i) ^ byte(i>>8)
	}
	if n, err := from.TryWrite(want); n != size || err != nil {
		return fmt.Errorf("wrote %d of %d bytes: %w", n, size, err)
	}
	var got []byte
	for len(got) < size {
		buf, n, err := to.TryRead(10_000, mem.DefaultBufferPool())
		if err != nil {
			return fmt.Errorf("read %d of %d bytes: %w", len(got), size, err)
		}
		got = append(got, (*buf)[:n]...)
		mem.DefaultBufferPool().Put(buf)
	}
	if !bytes.Equal(got, want) {
		return errors.New("other bytes arrived than were sent")
	}
	if _, err := to.TryReadInto(make([]byte, 1)); err != readyreader.ErrWouldBlock {
		return fmt.Errorf("after the last byte: %w", err)
	}
	if b := buffersOf(to.tls); to.intake.Memory() != 0 || b.raw.Cap() != 0 || b.input.Size() != 0 || b.hand.Cap() != 0 {
		return errors.New("a buffer is still held")
	}
	return nil
}
