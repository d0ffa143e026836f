// SPDX-License-Identifier: Apache-2.0

package certprovider

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestDistributor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDistributor()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.KeyMaterial(short); err != context.DeadlineExceeded {
			t.Errorf("empty: %v", err)
		}
		got := make(chan *KeyMaterial)
		go func() {
			km, _ := d.KeyMaterial(t.Context())
			got <- km
		}()
		synctest.Wait()
		first, broken := &KeyMaterial{}, errors.New("broken")
		d.Set(first, nil)
		if km := <-got; km != first {
			t.Errorf("%v", km)
		}
		if km, err := d.KeyMaterial(short); km != first || err != nil {
			t.Errorf("there is something, so the context does not matter: %v, %v", km, err)
		}
		d.Set(nil, broken)
		if _, err := d.KeyMaterial(t.Context()); err != broken {
			t.Errorf("%v", err)
		}
		d.Stop()
		d.Stop()
		d.Set(first, nil)
		if _, err := d.KeyMaterial(t.Context()); err != errProviderClosed {
			t.Errorf("%v", err)
		}
	})
}

func TestStopWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDistributor()
		result := make(chan error)
		go func() {
			_, err := d.KeyMaterial(t.Context())
			result <- err
		}()
		synctest.Wait()
		d.Stop()
		if err := <-result; err != errProviderClosed {
			t.Error(err)
		}
	})
}

type provider struct {
	*Distributor
	closed *int
}

// filled returns a Distributor that has something.
func filled() *Distributor {
	d := NewDistributor()
	d.Set(&KeyMaterial{}, nil)
	return d
}

func (p provider) Close() { *p.closed++ }

// builder counts what its providers do.
type builder struct{ started, closed int }

func (*builder) Name() string { return "test" }

func (b *builder) ParseConfig(config any) (*BuildableConfig, error) {
	text, ok := config.(string)
	if !ok {
		return nil, errors.New("not a string")
	}
	return NewBuildableConfig("test", []byte(text), func(opts BuildOptions) Provider {
		if opts.CertName == "none" {
			return nil
		}
		b.started++
		return provider{filled(), &b.closed}
	}), nil
}

func TestSharing(t *testing.T) {
	b := &builder{}
	Register(b)
	get := func(config string, opts BuildOptions) Provider {
		t.Helper()
		p, err := GetProvider("test", config, opts)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a1, a2 := get("a", BuildOptions{}), get("a", BuildOptions{})
	other, named := get("b", BuildOptions{}), get("a", BuildOptions{CertName: "n"})
	if b.started != 3 {
		t.Errorf("%d started", b.started)
	}
	a1.Close()
	a1.Close()
	if b.closed != 0 {
		t.Error("closed while in use")
	}
	if _, err := a1.KeyMaterial(t.Context()); err != errProviderClosed {
		t.Errorf("closed: %v", err)
	}
	if _, err := a2.KeyMaterial(t.Context()); err != nil {
		t.Errorf("the other: %v", err)
	}
	a2.Close()
	if b.closed != 1 {
		t.Errorf("%d closed", b.closed)
	}
	get("a", BuildOptions{}).Close()
	other.Close()
	named.Close()
	if b.started != 4 || b.closed != 4 || inUse.Len() != 0 {
		t.Errorf("%d started, %d closed, %d in use", b.started, b.closed, inUse.Len())
	}
}

func TestErrors(t *testing.T) {
	Register(&builder{})
	if _, err := GetProvider("nobody", "", BuildOptions{}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Error(err)
	}
	if _, err := GetProvider("test", 1, BuildOptions{}); err == nil || !strings.Contains(err.Error(), "not a string") {
		t.Error(err)
	}
	if _, err := GetProvider("test", "a", BuildOptions{CertName: "none"}); err == nil || !strings.Contains(err.Error(), "test:a") {
		t.Error(err)
	}
}

// asking is a builder that looks at the registry, and whose providers use others of the same kind.
type asking struct{}

func (*asking) Name() string {
	_, _ = ParseConfig("asking", "")
	return "asking"
}

func (*asking) ParseConfig(config any) (*BuildableConfig, error) {
	text, _ := config.(string)
	return NewBuildableConfig("asking", []byte(text), func(opts BuildOptions) Provider {
		if text == "" {
			return provider{filled(), new(int)}
		}
		inner, err := GetProvider("asking", text[1:], opts)
		if err != nil {
			return nil
		}
		return inner
	}), nil
}

// TestProviderOfProviders: a provider may get others while it is built.
func TestProviderOfProviders(t *testing.T) {
	Register(&asking{})
	p, err := GetProvider("asking", "xx", BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.KeyMaterial(t.Context()); err != nil {
		t.Error(err)
	}
	p.Close()
	if inUse.Len() != 0 {
		t.Errorf("%d in use", inUse.Len())
	}
}
