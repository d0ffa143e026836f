// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// program is the path of a program that is built.
func program(root, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(filepath.Dir(root), "out", "benchmark", name)
}

// Root is the folder of this module, found from the current folder: there, below or above.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "benchmark")} {
			_, err := os.Stat(filepath.Join(candidate, "published.mod"))
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

// OutDir is the folder for results, which is made when it does not exist.
func OutDir() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(root), "out", "benchmark")
	return dir, os.MkdirAll(dir, fs.ModePerm)
}
