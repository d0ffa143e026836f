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

// Options are those of a [Port]. The zero value is for plain text.
type Options struct {
	// TLS has the port serve TLS, with a copy of this config. "h2" is added to its
	// NextProtos if it is not there, and "http/1.1" if there is none at all; what its
	// GetConfigForClient returns has to name them itself. Nil is plain text.
	TLS *tls.Config
	// HandshakeTimeout bounds the handshake of TLS, which takes a goroutine. Zero
	// stands for 10 seconds.
	HandshakeTimeout time.Duration
}

const (
	defaultHandshakeTimeout = 10 * time.Second
	// defaultPatience is how long a client of HTTP/2 has for its first request before the
	// port speaks first. It is more than lies between two writes of those that do not wait.
	defaultPatience = 2 * time.Millisecond
	// defaultSettle is how long a client has until it is passed on in any case.
	defaultSettle = 5 * time.Second
)

func (o Options) handshakeTimeout() time.Duration {
	if o.HandshakeTimeout <= 0 {
		return defaultHandshakeTimeout
	}
	return o.HandshakeTimeout
}

var errNoCertificate = errors.New("oneport: the TLS config has no certificate")

// config returns what the handshakes use.
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
			return get(hello)
		}
	}
	return c, nil
}

// releases says whether connections of TLS may be without buffers while they are idle.
func releases() bool { return envconfig.HTTPFramerReadBufferPooling && envconfig.TLSIdleRelease }

// rests reports whether ciphers may be taken from connections that are idle.
func rests() bool { return envconfig.TLSIdleCiphers }
