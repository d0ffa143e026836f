// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// proxy is a proxy between clients and a server, with TLS on both sides or on neither.
type proxy struct {
	name string
	tool string
	// config returns the text of the proxy's configuration file. command returns the command
	// that runs the proxy in the foreground with that file.
	config  func(dir string, front, back target) (string, error)
	command func(ctx context.Context, file string) *exec.Cmd
	// gentle is the signal that makes the proxy end after its streams have ended.
	gentle string
	// without has the cases that fail through the proxy, and why.
	without map[string]string
}

// passage is a proxy that is ready to run. The proxy listens at front, and the server behind it
// must listen at back.
type passage struct {
	*proxy
	front, back target
	dir         string
}

// passage returns a passage, for which it writes the proxy's configuration file. The caller must
// call remove, which removes the file's folder.
func (w *workshop) passage(p *proxy, l leg) (g passage, err error) {
	g.proxy = p
	if g.front, err = l.target(w); err != nil {
		return g, err
	}
	if g.back, err = l.target(w); err != nil {
		return g, err
	}
	if g.dir, err = os.MkdirTemp("", p.name); err != nil {
		return g, err
	}
	config, err := p.config(g.dir, g.front, g.back)
	if err != nil {
		return g, errors.Join(err, g.remove())
	}
	if err := os.WriteFile(g.file(), []byte(config), 0o600); err != nil {
		return g, errors.Join(err, g.remove())
	}
	return g, nil
}

func (g passage) file() string  { return filepath.Join(g.dir, "config") }
func (g passage) remove() error { return os.RemoveAll(g.dir) }

func (g passage) start(ctx context.Context) (*process, error) {
	return startServer(ctx, g.command(ctx, g.file()), g.front)
}
