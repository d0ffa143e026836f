// SPDX-License-Identifier: Apache-2.0

// Package checkout finds the folders of programs that build and measure this module. Such programs
// must run in a checkout of it.
package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Program is a nested module that has such a program.
type Program struct {
	Name string // its folder, relative to that of the whole module
	Mark string // a file in it that no other folder has
}

// Root returns the program's folder: the first that it finds among the current folder and those above
// it, and the folders of that name directly below these.
func (p Program) Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, p.Name)} {
			_, err := os.Stat(filepath.Join(candidate, filepath.FromSlash(p.Mark)))
			if err == nil {
				return candidate, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("run this in a checkout of the module")
		}
		dir = up
	}
}

// Out returns the folder for the program's results. It creates the folder if that does not exist.
func (p Program) Out() (string, error) {
	root, err := p.Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(root), "out", p.Name)
	return dir, os.MkdirAll(dir, 0o755)
}
