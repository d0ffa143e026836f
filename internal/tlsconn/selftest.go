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
	"google.golang.org/grpc/internal/tlsconn/keyrest"
	"google.golang.org/grpc/internal/tlsconn/tlsbuf"
	"google.golang.org/grpc/mem"
)

// releasable reports whether tls.Conn is as layout.go expects. It finds out once, at
// the first connection.
var releasable = sync.OnceValue(func() bool { return refusal() == nil })

var refusal = sync.OnceValue(selfTest)

// StoodAside returns why the buffers of crypto/tls are left alone with this version of Go, so that idle
// connections hold them; nil if they are not left alone. The first connection finds that out, or this call.
func StoodAside() error { return refusal() }

// restable reports whether ciphers can be put to rest, which is found out as releasable is.
func restable() bool { return restRefusal() == nil }

var restRefusal = sync.OnceValue(func() error {
	if err := refusal(); err != nil {
		return err
	}
	return restTest()
})

// restTest runs traffic over a connection in memory whose ciphers are put to rest between
// messages.
func restTest() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	cert, err := trialCertificate()
	if err != nil {
		return err
	}
	client, server, err := trialPair(cert, tls.VersionTLS13)
	if err != nil {
		return err
	}
	defer client.Close()
	defer server.Close()
	if err := keyrest.Learn(client.tls); err != nil {
		return err
	}
	client.rests, server.rests = true, true
	for range 3 {
		if err := trialExchange(client, server, 1000); err != nil {
			return err
		}
		for _, c := range []*Conn{client, server} {
			c.ReleaseIdle()
			if in, out := keyrest.Halves(c.tls); !in.Rests() || !out.Rests() {
				return errors.New("a cipher does not rest")
			}
		}
	}
	return nil
}

// selfTest runs traffic over a connection in memory whose buffers are taken away
// at every opportunity, for each version of TLS. It takes a few milliseconds.
func selfTest() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
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

// maxTrial is the size of the largest message of a trial: more than one chunk.
const maxTrial = chunkSize + 22<<10

func trial(cert tls.Certificate, version uint16) error {
	client, server, err := trialPair(cert, version)
	if err != nil {
		return err
	}
	defer client.Close()
	defer server.Close()
	for _, c := range []*Conn{client, server} {
		// It is allocated once, because what a trial allocates stays in memory until there is a collection.
		c.raw.(*memSocket).out.memory = make([]byte, maxTrial+maxTrial/16)
	}
	for _, most := range []int{0, 4000} {
		for _, c := range []*Conn{client, server} {
			c.raw.(*memSocket).most = most
		}
		for _, size := range []int{1, 100, 20 << 10, maxTrial} {
			if err := trialExchange(client, server, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// trialPair returns two connections to each other after the handshake.
func trialPair(cert tls.Certificate, version uint16) (client, server *Conn, err error) {
	if !tlsbuf.Found() { // nothing below may run then, nor before it is known
		return nil, nil, errors.New("tls.Conn has other fields")
	}
	a, b := newMemSockets()
	server = &Conn{raw: a, sock: a, release: true}
	config := &tls.Config{
		Certificates:       []tls.Certificate{cert},
		InsecureSkipVerify: true, // both ends are in this function
		MinVersion:         version,
		MaxVersion:         version,
		CurvePreferences:   []tls.CurveID{tls.CurveP256}, // the cheapest
	}
	server.start(config, true)
	client = &Conn{raw: b, sock: b, release: true}
	client.start(config, false)

	shaken := make(chan error, 1)
	go func() {
		err := server.HandshakeContext(context.Background())
		if err != nil {
			server.Close() // for client not to wait
		}
		shaken <- err
	}()
	err = client.HandshakeContext(context.Background())
	if err != nil {
		b.Close()
	}
	if err := errors.Join(err, <-shaken); err != nil {
		client.Close()
		server.Close()
		return nil, nil, err
	}
	return client, server, nil
}

// trialExchange sends size bytes each way.
func trialExchange(a, b *Conn, size int) error {
	return errors.Join(trialMessage(a, b, size), trialMessage(b, a, size))
}

// trialMessage sends size bytes and checks what arrives and what stays behind.
func trialMessage(from, to *Conn, size int) error {
	pool := mem.DefaultBufferPool()
	message := pool.Get(size)
	defer pool.Put(message)
	want := *message
	for i := range want {
		want[i] = byte(i) ^ byte(i>>8)
	}
	if n, err := from.TryWrite(want); n != size || err != nil {
		return fmt.Errorf("wrote %d of %d bytes: %w", n, size, err)
	}
	for got := 0; got < size; {
		buf, n, err := to.TryRead(10_000, pool)
		if err != nil {
			return fmt.Errorf("read %d of %d bytes: %w", got, size, err)
		}
		same := n <= size-got && bytes.Equal((*buf)[:n], want[got:got+n])
		got += n
		pool.Put(buf)
		if !same {
			return errors.New("other bytes arrived than were sent")
		}
	}
	if _, err := to.TryReadInto(make([]byte, 1)); err != readyreader.ErrWouldBlock {
		return fmt.Errorf("after the last byte: %w", err)
	}
	if b := tlsbuf.Of(to.tls); to.intake.Memory() != 0 || b.Raw.Cap() != 0 || b.Input.Size() != 0 || b.Hand.Cap() != 0 {
		return errors.New("a buffer is still held")
	}
	return nil
}
