// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a running openssl.
type program struct {
	in   io.Writer
	said chan string // that it takes connections
}

func openssl(t *testing.T, args ...string) *program {
	t.Helper()
	path, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{in, make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(p.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if l := lines.Text(); strings.HasPrefix(l, "ACCEPT") {
				p.said <- l
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		w.Close()
		<-done
	})
	return p
}

func pemFiles(t *testing.T) (cert, key string) {
	t.Helper()
	pair := testConfig().Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// keyUpdates has openssl send lines and KeyUpdates in turn. What it reads in one
// piece is one command, so each has to take effect before the next.
func keyUpdates(t *testing.T, p *program, c *Conn) {
	t.Helper()
	for range 10 {
		for _, command := range []string{"K\n", "k\n"} { // with an answer asked for, and without
			io.WriteString(p.in, "hello\n")
			got, err := receive(c, len("hello\n"))
			if err != nil || string(got) != "hello\n" {
				t.Fatalf("%q, %v", got, err)
			}
			if err := send(c, []byte("reply\n")); err != nil {
				t.Fatal(err)
			}
			io.WriteString(p.in, command)
			c.rmu.Lock()
			if err := c.fill(true); err != nil { // the KeyUpdate has arrived
				t.Fatal(err)
			}
			c.rmu.Unlock()
			wantIdle(t, c)
		}
	}
}

func TestOpenSSLClient(t *testing.T) {
	for _, release := range []bool{true, false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		cert, key := pemFiles(t)
		p := openssl(t, "s_client", "-connect", l.Addr().String(), "-tls1_3", "-cert", cert, "-key", key)
		raw, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := newConn(t, raw, mode{version: tls.VersionTLS13}.config(), true, release)
		if err := c.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		keyUpdates(t, p, c)
		c.Close()
	}
}

func TestOpenSSLServer(t *testing.T) {
	for _, release := range []bool{true, false} {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := free.Addr().String()
		free.Close()
		cert, key := pemFiles(t)
		p := openssl(t, "s_server", "-accept", addr, "-tls1_3", "-cert", cert, "-key", key, "-naccept", "1")
		if said := <-p.said; !strings.HasPrefix(said, "ACCEPT") {
			t.Skip("openssl takes no connections")
		}
		raw, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c := newConn(t, raw, mode{version: tls.VersionTLS13}.config(), false, release)
		if err := c.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		keyUpdates(t, p, c)
		c.Close()
	}
}
