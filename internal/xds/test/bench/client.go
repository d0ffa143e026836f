// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// build builds command measured with the modules that a file names.
func build(modfile, path string) error {
	out, err := exec.Command("go", "build", "-modfile", modfile, "-o", path, "./measured").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// client is a process of command measured.
type client struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// answer is that of command measured.
type answer struct {
	RSS        int64
	Heap       uint64
	Goroutines int
	CPU        float64
	Nanos      float64
	Allocs     float64
	Error      string
}

// profiles is the folder for profiles of the clients, if they are wanted.
var profiles string

func start(program, bootstrap string) (*client, error) {
	c := &client{process: exec.Command(program)}
	c.process.Env = append(os.Environ(), "GRPC_XDS_BOOTSTRAP_CONFIG="+bootstrap, "GOMAXPROCS=2")
	if profiles != "" { // of each allocation, nearly
		c.process.Env = append(c.process.Env, "MEASURED_PROFILE=1")
	}
	c.process.Stderr = os.Stderr
	in, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, json.NewDecoder(bufio.NewReader(out))
	return c, c.process.Start()
}

// end ends the process. c may be nil.
func (c *client) end() {
	if c != nil {
		c.in.Close()
		_ = c.process.Wait()
	}
}

func (c *client) do(command string) (a answer, err error) {
	if _, err := fmt.Fprintln(c.in, command); err != nil {
		return a, err
	}
	if err := c.out.Decode(&a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}
