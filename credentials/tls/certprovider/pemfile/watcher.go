// SPDX-License-Identifier: Apache-2.0

// Package pemfile has a certificate provider that reads PEM files, and reads them again
// from time to time, so that certificates can be renewed while a program runs. Its
// builder is registered as "file_watcher" (gRFC A29).
//
// Experimental: this API may change in a later release.
package pemfile

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/grpclog"
)

// defaultRefresh is the refresh interval if Options have none.
const defaultRefresh = time.Hour

var logger = grpclog.Component("pemfile")

// Options say which files a provider reads, and how often. To replace a certificate and its
// key, write new files and rename them. While the two don't fit together, the old pair stays
// in use.
type Options struct {
	// CertFile has the local certificate, followed by intermediate ones. KeyFile has its key.
	// Either both must be set and be in the same directory, or neither.
	CertFile, KeyFile string
	// RootFile has the certificates of the trusted authorities.
	RootFile string
	// SPIFFEBundleMapFile has the authorities of SPIFFE trust domains, in JSON (gRFC A87). With
	// it, RootFile is not read.
	SPIFFEBundleMapFile string
	// RefreshDuration is the time from one reading to the next. 0 means an hour.
	RefreshDuration time.Duration
}

func (o Options) check() error {
	switch {
	case o.CertFile == "" && o.KeyFile == "" && o.RootFile == "" && o.SPIFFEBundleMapFile == "":
		return errors.New("pemfile: at least one credential file needs to be specified")
	case (o.CertFile == "") != (o.KeyFile == ""):
		return errors.New("pemfile: private key file and identity cert file should be both specified or not specified")
	case filepath.Dir(o.CertFile) != filepath.Dir(o.KeyFile):
		return errors.New("pemfile: certificate and key file must be in the same directory")
	case o.RefreshDuration < 0:
		return fmt.Errorf("pemfile: refresh duration %v is negative", o.RefreshDuration)
	}
	return nil
}

// NewProvider returns a provider that reads the files at once and then regularly. If a file
// can't be read, the provider logs the error: what it read before stays in use, and
// KeyMaterial waits if there is nothing. NewProvider returns an error if the options are
// invalid.
func NewProvider(o Options) (certprovider.Provider, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.RefreshDuration == 0 {
		o.RefreshDuration = defaultRefresh
	}
	w := &watcher{opts: o}
	if o.CertFile != "" {
		w.identity = certprovider.NewDistributor()
	}
	if o.RootFile != "" || o.SPIFFEBundleMapFile != "" {
		w.roots = certprovider.NewDistributor()
	}
	w.refresh()
	return w, nil
}

// watcher is the provider. It has a timer and no goroutine.
type watcher struct {
	opts     Options
	identity *certprovider.Distributor // nil without CertFile
	roots    *certprovider.Distributor // nil without RootFile and SPIFFEBundleMapFile

	last atomic.Pointer[joined] // what KeyMaterial returned last

	mu                 sync.Mutex // guards the fields below
	closed             bool
	timer              *time.Timer
	cert, key, trusted []byte // the files' contents in use; trusted is RootFile's or SPIFFEBundleMapFile's
}

// joined is certificates and roots in one.
type joined struct {
	identity, roots *certprovider.KeyMaterial // nil if none is wanted
	both            certprovider.KeyMaterial
}

// refresh reads the files, schedules the next refresh, and logs what is wrong with the files. It holds no lock then: the
// program's logger may close the provider.
func (w *watcher) refresh() {
	for _, err := range w.read() {
		logger.Warning(err)
	}
}

// read reads the files, and schedules the next refresh after RefreshDuration. One read runs at a time.
func (w *watcher) read() (errs []error) {
	var identity, roots func() error
	if w.identity != nil {
		identity = w.readIdentity()
	}
	if w.roots != nil {
		roots = w.readRoots()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	if identity != nil {
		if err := identity(); err != nil {
			errs = append(errs, fmt.Errorf("local certificate: %w", err))
		}
	}
	if roots != nil {
		if err := roots(); err != nil {
			errs = append(errs, fmt.Errorf("trusted certificates: %w", err))
		}
	}
	w.timer = time.AfterFunc(w.opts.RefreshDuration, w.refresh)
	return errs
}

// readIdentity reads the files without mu, as that may take any time. take, which is called with mu, puts what is in them
// into use.
func (w *watcher) readIdentity() (take func() error) {
	cert, err := os.ReadFile(w.opts.CertFile)
	var key []byte
	if err == nil {
		key, err = os.ReadFile(w.opts.KeyFile)
	}
	return func() error {
		if err != nil {
			return err
		}
		if w.cert != nil && bytes.Equal(cert, w.cert) && bytes.Equal(key, w.key) {
			return nil
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("%s and %s: %w", w.opts.CertFile, w.opts.KeyFile, err)
		}
		w.cert, w.key = cert, key
		w.identity.Set(&certprovider.KeyMaterial{Certs: []tls.Certificate{pair}}, nil)
		return nil
	}
}

// readRoots is readIdentity for the authorities.
func (w *watcher) readRoots() (take func() error) {
	path, parse := w.opts.RootFile, parseRoots
	if w.opts.SPIFFEBundleMapFile != "" {
		path, parse = w.opts.SPIFFEBundleMapFile, parseBundleMap
	}
	text, err := os.ReadFile(path)
	return func() error {
		if err != nil {
			return err
		}
		if w.trusted != nil && bytes.Equal(text, w.trusted) {
			return nil
		}
		km, err := parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		w.trusted = text
		w.roots.Set(km, nil)
		return nil
	}
}

func parseRoots(text []byte) (*certprovider.KeyMaterial, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("no certificate in it")
	}
	return &certprovider.KeyMaterial{Roots: pool}, nil
}

// KeyMaterial implements certprovider.Provider. It returns the same pointer as before as long as no file has changed, so that callers
// can tell.
func (w *watcher) KeyMaterial(ctx context.Context) (*certprovider.KeyMaterial, error) {
	now := &joined{}
	var err error
	if w.identity != nil {
		if now.identity, err = w.identity.KeyMaterial(ctx); err != nil {
			return nil, err
		}
		now.both.Certs = now.identity.Certs
	}
	if w.roots != nil {
		if now.roots, err = w.roots.KeyMaterial(ctx); err != nil {
			return nil, err
		}
		now.both.Roots, now.both.SPIFFEBundleMap = now.roots.Roots, now.roots.SPIFFEBundleMap
	}
	if last := w.last.Load(); last != nil && last.identity == now.identity && last.roots == now.roots {
		return &last.both, nil
	}
	w.last.Store(now)
	return &now.both, nil
}

// Close implements certprovider.Provider.
func (w *watcher) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.timer.Stop()
	if w.identity != nil {
		w.identity.Stop()
	}
	if w.roots != nil {
		w.roots.Stop()
	}
}
