// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// proxy stands between clients and a server, with TLS on both sides or on none.
type proxy struct {
	name string
	tool string
	// config is what it reads, command how it runs in the foreground with that file.
	config  func(dir string, front, back target) (string, error)
	command func(ctx context.Context, file string) *exec.Cmd
	// gentle is the signal that has it end once its streams have.
	gentle string
	// without has the cases that it does not let pass, and why.
	without map[string]string
}

// passage is a proxy that is ready to run: where it listens, and where the server behind it is
// to listen.
type passage struct {
	*proxy
	front, back target
	dir         string
}

// passage makes the proxy's file. Its folder is to be removed.
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
