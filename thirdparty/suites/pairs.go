// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pairTime bounds a client of a pair, and the wait for what its server prints. The script
// allows 20 seconds.
const pairTime = time.Minute

// testPairs builds all of the module in dir, and runs the pairs of programs that its script
// names: a server, and a client that is to succeed; both are to print what the script wants.
func testPairs(ctx context.Context, dir string, s suite, o *outcome) error {
	text, err := os.ReadFile(filepath.Join(dir, s.script))
	if err != nil {
		return err
	}
	list, err := readScript(string(text), dir)
	if err != nil {
		return err
	}
	module, _, _ := strings.Cut(s.module, "@")
	for _, name := range list.names {
		o.note(testID{pkg: module, test: name}, func() (string, error) { return runPair(ctx, dir, name, list) })
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// note counts what ran; it is told what was printed.
func (o *outcome) note(id testID, run func() (printed string, err error)) {
	out, err := run()
	if err == nil {
		o.passed++
		return
	}
	o.failed = append(o.failed, id)
	o.print(id, out+err.Error()+"\n")
}

// buildAll compiles the packages that the suite only builds, and notes if it can't.
func buildAll(ctx context.Context, dir string, s suite, o *outcome) error {
	args := append([]string{"list", "-mod=mod", "-e", "-tags=" + s.tags, "-f", "{{.ImportPath}}"}, s.builds...)
	out, err := goCommand(ctx, dir, args...).Output()
	if err != nil {
		return err
	}
	var packages []string
	for _, p := range strings.Fields(string(out)) {
		if !s.skips(p) {
			packages = append(packages, p)
		}
	}
	// Of several programs `go build` keeps none.
	cmd := goCommand(ctx, dir, append([]string{"build", "-mod=mod", "-tags=" + s.tags}, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		id := testID{pkg: s.name}
		o.failed = append(o.failed, id)
		o.print(id, string(out)+err.Error()+"\n")
	}
	return nil
}

func (s suite) skips(pkg string) bool {
	for _, element := range s.skip {
		if strings.Contains(pkg+"/", "/"+element+"/") {
			return true
		}
	}
	return false
}

// runPair returns what both programs have printed.
func runPair(ctx context.Context, dir, name string, list *script) (printed string, err error) {
	server, err := buildOne(ctx, dir, name, "*server")
	if err != nil {
		return "", err
	}
	client, err := buildOne(ctx, dir, name, "*client")
	if err != nil {
		return "", err
	}
	defer os.Remove(server)
	defer os.Remove(client)
	ctx, cancel := context.WithTimeout(ctx, 2*pairTime)
	defer cancel()
	addrs := listensOn(list.of("SERVER_WAIT_COMMAND", name))
	if answers(addrs) {
		return "", fmt.Errorf("somebody else listens on %v", addrs)
	}
	said := &output{}
	cmd := program(ctx, dir, server, list.of("SERVER_ARGS", name), said)
	cmd.Env = append(os.Environ(), list.env...)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer func() {
		printed = "server:\n" + said.String() + "client:\n" + printed
	}()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may be over
		<-ended                //nolint:errcheck // it was killed
	})
	defer stop()
	for !answers(addrs) {
		select {
		case err := <-ended:
			ended <- err
			return "", fmt.Errorf("the server ended: %w", err)
		case <-ctx.Done():
			return "", errors.New("the server does not listen")
		case <-time.After(50 * time.Millisecond):
		}
	}
	answer := &output{}
	clientCtx, done := context.WithTimeout(ctx, pairTime)
	defer done()
	caller := program(clientCtx, dir, client, list.of("CLIENT_ARGS", name), answer)
	caller.Env = append(os.Environ(), list.env...)
	if err := caller.Run(); err != nil {
		return answer.String(), fmt.Errorf("the client failed: %w", err)
	}
	if want := list.lists["EXPECTED_CLIENT_OUTPUT"][name]; !strings.Contains(answer.String(), want) {
		return answer.String(), fmt.Errorf("the client did not print %q", want)
	}
	want := list.lists["EXPECTED_SERVER_OUTPUT"][name]
	for end := time.Now().Add(pairTime); !strings.Contains(said.String(), want); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return answer.String(), fmt.Errorf("the server did not print %q", want)
		}
	}
	return answer.String(), nil
}

// buildOne links the one program whose folder in name matches the pattern.
func buildOne(ctx context.Context, dir, name, pattern string) (program string, err error) {
	found, err := filepath.Glob(filepath.Join(dir, name, pattern))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s has %d folders %s", name, len(found), pattern)
	}
	program = filepath.Join(dir, "program-"+strings.Trim(pattern, "*"))
	out, err := goCommand(ctx, dir, "build", "-mod=mod", "-o", program, found[0]).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// program is a command that prints to out. Like in the script it runs in the folder of the
// module.
func program(ctx context.Context, dir, path, args string, out *output) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, strings.Fields(args)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.WaitDelay = time.Second
	return cmd
}

var portIn = regexp.MustCompile(`-i :(\d+)`)

// listensOn finds out of the command with which the script waits for a server where that will
// be: on a port, of IPv4 or IPv6, or an abstract socket.
func listensOn(command string) []net.Addr {
	if m := portIn.FindStringSubmatch(command); m != nil {
		port, _ := strconv.Atoi(m[1]) // digits
		return []net.Addr{
			&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port},
			&net.TCPAddr{IP: net.IPv6loopback, Port: port},
		}
	}
	fields := strings.Fields(command)
	return []net.Addr{&net.UnixAddr{Net: "unix", Name: "@" + fields[len(fields)-1]}}
}

// answers says whether somebody serves on one of the addresses.
func answers(addrs []net.Addr) bool { return slices.ContainsFunc(addrs, serves) }

func serves(a net.Addr) bool {
	c, err := net.DialTimeout(a.Network(), a.String(), time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	// An xDS server closes connections until it knows what to do with them.
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err = c.Read(make([]byte, 1))
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// output is what a program prints, to be read meanwhile.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
