// SPDX-License-Identifier: Apache-2.0

package pemfile

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/interop/testcerts"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// files makes a set of files in a directory of its own.
func files(t *testing.T) testcerts.Files {
	t.Helper()
	f, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func replace(t *testing.T, path, by string) {
	t.Helper()
	b, err := os.ReadFile(by)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func keyMaterial(t *testing.T, p certprovider.Provider) *certprovider.KeyMaterial {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	km, err := p.KeyMaterial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return km
}

func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, later := files(t), files(t)
		p, err := NewProvider(Options{CertFile: now.Cert, KeyFile: now.Key, RootFile: now.CA, RefreshDuration: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		first := keyMaterial(t, p)
		verify(t, first)

		time.Sleep(time.Minute + time.Second)
		if keyMaterial(t, p) != first {
			t.Error("new key material though nothing changed")
		}
		// Half of a change leaves the old pair in use.
		replace(t, now.Cert, later.Cert)
		time.Sleep(time.Minute)
		half := keyMaterial(t, p)
		if !bytes.Equal(half.Certs[0].Certificate[0], first.Certs[0].Certificate[0]) {
			t.Error("a certificate without its key is in use")
		}
		replace(t, now.Key, later.Key)
		replace(t, now.CA, later.CA)
		time.Sleep(time.Minute)
		last := keyMaterial(t, p)
		if bytes.Equal(last.Certs[0].Certificate[0], first.Certs[0].Certificate[0]) || last.Roots == first.Roots {
			t.Error("what changed is not read")
		}
		verify(t, last)
		if err := os.Remove(now.CA); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if gone := keyMaterial(t, p); gone.Roots != last.Roots {
			t.Error("what was read is forgotten")
		}
	})
}

// verify checks that the certificate is of the authority.
func verify(t *testing.T, km *certprovider.KeyMaterial) {
	t.Helper()
	cert, err := x509.ParseCertificate(km.Certs[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	// The clock of a test of time is not that of the certificate.
	if _, err := cert.Verify(x509.VerifyOptions{Roots: km.Roots, CurrentTime: cert.NotBefore}); err != nil {
		t.Error(err)
	}
}

// TestFilesComeLate: KeyMaterial waits for them.
func TestFilesComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, path := files(t), filepath.Join(t.TempDir(), "ca.pem")
		p, err := NewProvider(Options{RootFile: path, RefreshDuration: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		got := make(chan *certprovider.KeyMaterial, 1)
		go func() {
			km, _ := p.KeyMaterial(t.Context())
			got <- km
		}()
		time.Sleep(time.Second)
		replace(t, path, f.CA)
		begin := time.Now()
		if km := <-got; km == nil || km.Roots == nil || km.Certs != nil || time.Since(begin) != 59*time.Second {
			t.Errorf("%v after %v", km, time.Since(begin))
		}
	})
}

// TestEmptyFiles: files that are there and still empty are named in the log.
func TestEmptyFiles(t *testing.T) {
	f := files(t)
	replace(t, f.Cert, os.DevNull)
	replace(t, f.Key, os.DevNull)
	w := &watcher{opts: Options{CertFile: f.Cert, KeyFile: f.Key}, identity: certprovider.NewDistributor()}
	defer w.identity.Stop()
	if err := w.readIdentity()(); err == nil || !strings.Contains(err.Error(), f.Cert) {
		t.Errorf("error %v, want one that names %s", err, f.Cert)
	}
}

func TestClose(t *testing.T) {
	f := files(t)
	p, err := NewProvider(Options{RootFile: f.CA, CertFile: f.Cert, KeyFile: f.Key})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.Close()
	if _, err := p.KeyMaterial(t.Context()); err == nil {
		t.Error("no error after Close")
	}
}

// TestLoggerCloses has a logger that closes the provider that cannot read its file any more.
func TestLoggerCloses(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		f := files(t)
		p, err := NewProvider(Options{RootFile: f.CA, RefreshDuration: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, writer(func() { p.Close() }), io.Discard))
		if err := os.Remove(f.CA); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := p.KeyMaterial(t.Context()); err == nil {
			t.Error("it is not closed")
		}
	})
}

// writer is called for what is written.
type writer func()

func (w writer) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{
		{}, {CertFile: "a"}, {KeyFile: "a"}, {CertFile: "a", RootFile: "b"}, {RootFile: "b", RefreshDuration: -1}, {CertFile: "c", KeyFile: "d/c"},
	} {
		if p, err := NewProvider(o); err == nil {
			p.Close()
			t.Errorf("%+v", o)
		}
	}
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]Options{
		`{"ca_certificate_file": "r"}`: {RootFile: "r", RefreshDuration: 10 * time.Minute},
		`{"certificate_file": "c", "private_key_file": "k", "ca_certificate_file": "r", "refresh_interval": "1.5s", "other": 1}`: {
			CertFile: "c", KeyFile: "k", RootFile: "r", RefreshDuration: 1500 * time.Millisecond,
		},
	} {
		if got, err := parse([]byte(text), false); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "1", "{}", `{"certificate_file": "c"}`, `{"ca_certificate_file": "r", "refresh_interval": "x"}`, `{"ca_certificate_file": 1}`,
		`{"ca_certificate_file": "r", "refresh_interval": "-1s"}`, `{"spiffe_trust_bundle_map_file": "s"}`,
	} {
		if got, err := certprovider.ParseConfig(PluginName, json.RawMessage(text)); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	if _, err := certprovider.ParseConfig(PluginName, "text"); err == nil {
		t.Error("a string is taken")
	}
}

func TestRegistered(t *testing.T) {
	f := files(t)
	config, err := json.Marshal(map[string]string{"ca_certificate_file": f.CA})
	if err != nil {
		t.Fatal(err)
	}
	bc, err := certprovider.ParseConfig(PluginName, json.RawMessage(config))
	if err != nil || !strings.HasPrefix(bc.String(), "file_watcher:") {
		t.Fatalf("%v, %v", bc, err)
	}
	p, err := bc.Build(certprovider.BuildOptions{WantRoot: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if km := keyMaterial(t, p); km.Roots == nil {
		t.Error("no roots")
	}
}
