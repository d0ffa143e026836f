// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"crypto/tls"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/tlsconn"
)

// Options are the options of a [Port]. The zero value is for plain text.
type Options struct {
	// TLS makes the port serve TLS, with a copy of this config. "h2" is added to its NextProtos if it
	// is missing, and "http/1.1" too if NextProtos is empty. Configs that its GetConfigForClient returns
	// must name the protocols themselves. nil stands for plain text.
	TLS *tls.Config
	// HandshakeTimeout limits the time for the TLS handshake, which takes a goroutine, and then the time until
	// the connection's server accepts it: a connection that is not accepted is closed. Zero stands for 10 seconds.
	HandshakeTimeout time.Duration
}

const (
	defaultHandshakeTimeout = 10 * time.Second
	// defaultPatience is how long an HTTP/2 client has for its first request before the port speaks
	// first. It is longer than the time between two writes of a client that does not wait.
	defaultPatience = 2 * time.Millisecond
	// defaultSettle is the time after which a client is passed on in any case.
	defaultSettle = 5 * time.Second
)

func (o Options) handshakeTimeout() time.Duration {
	if o.HandshakeTimeout <= 0 {
		return defaultHandshakeTimeout
	}
	return o.HandshakeTimeout
}

var errNoCertificate = errors.New("oneport: the TLS config has no certificate")

// config returns the config for the handshakes, or nil for plain text.
func (o Options) config() (*tls.Config, error) {
	if o.TLS == nil {
		return nil, nil
	}
	c := o.TLS.Clone()
	if len(c.Certificates) == 0 && c.GetCertificate == nil && c.GetConfigForClient == nil {
		return nil, errNoCertificate
	}
	switch {
	case len(c.NextProtos) == 0:
		c.NextProtos = []string{"h2", "http/1.1"}
	case !slices.Contains(c.NextProtos, "h2"):
		c.NextProtos = append([]string{"h2"}, c.NextProtos...)
	}
	tlsconn.ShowSocket(c)
	if get := c.GetConfigForClient; get != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			hello.Conn = tlsconn.Underlying(hello.Conn)
			its, err := get(hello)
			if its == nil || err != nil {
				return nil, err
			}
			its = its.Clone()
			tlsconn.ShowSocket(its)
			return its, nil
		}
	}
	return c, nil
}

// releases reports whether TLS connections may be without buffers while they are idle.
func releases() bool { return envconfig.HTTPFramerReadBufferPooling && envconfig.TLSIdleRelease }

// rests reports whether TLS connections may be without ciphers while they are idle.
func rests() bool { return envconfig.TLSIdleCiphers }
