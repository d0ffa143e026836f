// SPDX-License-Identifier: Apache-2.0

package pemfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// jwk returns a key of a trust domain with a certificate.
func jwk(t *testing.T, domain string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		URIs: []*url.URL{{Scheme: "spiffe", Host: domain}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"kty": "EC", "use": "x509-svid", "crv": "P-256", "x": %q, "y": %q, "x5c": [%q]}`,
		b64(point[1:33]), b64(point[33:]), base64.StdEncoding.EncodeToString(der))
}

func TestBundleMap(t *testing.T) {
	key := jwk(t, "example.com")
	for _, tt := range []struct {
		text    string
		domains int
	}{
		{`{"trust_domains": {}}`, 0},
		{`{"trust_domains": {"example.com": {"keys": []}}}`, 1},
		{`{"trust_domains": {"example.com": {"spiffe_sequence": 3, "keys": [` + key + `]}}}`, 1},
		{`{"trust_domains": {"example.com": {"keys": [` + key + `]}, "b.c": {"keys": []}}}`, 2},
		{`{"trust_domains": {"spiffe://example.com": {"keys": [` + key + `]}}, "other": true}`, 1},
	} {
		km, err := parseBundleMap([]byte(tt.text))
		if err != nil || km.SPIFFEBundleMap == nil || len(km.SPIFFEBundleMap) != tt.domains || km.Roots != nil {
			t.Errorf("%s: %v, %v", tt.text, km, err)
		}
		if km != nil && tt.domains > 0 && km.SPIFFEBundleMap["example.com"] == nil {
			t.Errorf("%s: no bundle of example.com", tt.text)
		}
	}
	for _, text := range []string{
		"", "1", "{}", `{"trust_domains": null}`, `{"trust_domains": 1}`, `{"trust_domains": {"": {"keys": []}}}`, `{"trust_domains": {"a b": {"keys": []}}}`,
		`{"trust_domains": {"example.com": null}}`, `{"trust_domains": {"example.com": {}}}`, `{"trust_domains": {"b.c": {"keys": []}, "example.com": 1}}`,
		`{"trust_domains": {"example.com": {"keys": [{"kty": "EC", "use": "x509-svid"}]}}}`,
	} {
		if km, err := parseBundleMap([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, km)
		}
	}
}

// TestBundleMapRefresh: a map that goes bad leaves the one before in use, and roots that are
// named beside it don't count.
func TestBundleMapRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "map.json")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		p, err := NewProvider(Options{SPIFFEBundleMapFile: path, RootFile: files(t).CA, RefreshDuration: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		time.Sleep(time.Second)
		write(`{"trust_domains": {"example.com": {"keys": [` + jwk(t, "example.com") + `]}}}`)
		for range 2 {
			km := keyMaterial(t, p)
			b := km.SPIFFEBundleMap["example.com"]
			if b == nil || len(b.X509Authorities()) != 1 || km.Roots != nil {
				t.Fatalf("%+v", km)
			}
			write("{")
		}
		write(`{"trust_domains": {}}`)
		if km := keyMaterial(t, p); km.SPIFFEBundleMap == nil || len(km.SPIFFEBundleMap) != 0 {
			t.Errorf("%+v", km)
		}
	})
}

func TestSPIFFEConfig(t *testing.T) {
	text := []byte(`{"ca_certificate_file": "r", "spiffe_trust_bundle_map_file": "s"}`)
	for spiffe, want := range map[bool]string{false: ":::r::10m0s", true: ":::r:s:10m0s"} {
		opts, err := parse(text, spiffe)
		if got := ":" + canonical(opts); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if a, b := canonical(Options{CertFile: "a:b"}), canonical(Options{CertFile: "a", KeyFile: "b"}); a == b {
		t.Error(a)
	}
}
