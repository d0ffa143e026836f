// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/interop/internal/programs"
	"google.golang.org/grpc/interop/testcerts"
)

// poolingVariable is the environment variable that switches this module's pooled reader on and
// off. The published module reads the same variable, so it is set only for this module's
// processes.
const poolingVariable = "GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING"

// startLimit bounds the time until a server listens, caseLimit the time for one case, and
// clientLimit the time for the whole run of a client.
const (
	startLimit  = 20 * time.Second
	caseLimit   = 20 * time.Second
	clientLimit = 2 * time.Minute
)

// serversEach is how many servers a process of the server program has, each at its own
// address. It is the greatest number that a case needs.
const serversEach = 3

// serverKey has all that distinguishes one server process from another.
type serverKey struct {
	impl    string
	network string
	tls     bool
	pooling bool
}

// serverSet starts servers as legs need them, and stops them all at the end.
type serverSet struct {
	ctx   context.Context
	dir   string
	certs testcerts.Files
	progs map[string]programs.Programs

	foreign abroad

	mu      sync.Mutex // guards the fields below, and is held while a server starts
	servers map[serverKey]*server
}

type server struct {
	addr  string // the addresses of its servers, separated by commas
	cmd   *exec.Cmd
	stdin io.Closer     // the server stops when this closes
	limit time.Duration // bounds the time to start, and the time to stop
	log   strings.Builder
	err   error
}

func newServerSet(ctx context.Context, dir string, certs testcerts.Files, progs map[string]programs.Programs) *serverSet {
	return &serverSet{ctx: ctx, dir: dir, certs: certs, progs: progs, servers: make(map[serverKey]*server)}
}

// runClient runs the cases of a leg: it runs a client process against the leg's server.
func (s *serverSet) runClient(l *leg, cases string) ([]result, error) {
	addr, err := s.address(l)
	if err != nil {
		return nil, err
	}
	args := []string{"-addr", addr, "-network", l.transport.network, "-case", cases}
	if l.transport.tls {
		args = append(args, "-tls", "-ca", s.certs.CA, "-server-name", testcerts.ServerName)
	}
	if l.transport.compressor != "" {
		args = append(args, "-compressor", l.transport.compressor)
	}
	args = append(args, "-timeout", s.foreign.limit(caseLimit).String())
	ctx, cancel := context.WithTimeout(s.ctx, s.foreign.limit(clientLimit))
	defer cancel()
	cmd := s.foreign.run(ctx, l.pair.client, s.progs[l.pair.client].Client, args...)
	cmd.Env = environment(l.pair.client, l.pooling)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	results := parseResults(string(out))
	// Exit code 1 only says that cases have failed. The results say which.
	var exit *exec.ExitError
	if err == nil || (errors.As(err, &exit) && exit.ExitCode() == 1 && len(results) > 0) {
		return results, nil
	}
	return results, fmt.Errorf("client: %w\n%s", err, log.String())
}

// address returns the addresses of the leg's servers. It starts them if they aren't running.
func (s *serverSet) address(l *leg) (string, error) {
	key := serverKey{
		impl:    l.pair.server,
		network: l.transport.network,
		tls:     l.transport.tls,
		pooling: l.pooling || !isOurs(l.pair.server),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	srv := s.servers[key]
	if srv == nil {
		srv = s.start(key)
		s.servers[key] = srv
	}
	return srv.addr, srv.err
}

func (s *serverSet) start(key serverKey) *server {
	addrs := make([]string, serversEach)
	for i := range addrs {
		addrs[i] = "127.0.0.1:0"
		if key.network == "unix" {
			addrs[i] = filepath.Join(s.dir, fmt.Sprintf("%d-%d.sock", len(s.servers), i))
		}
	}
	args := []string{"-until-eof", "-addr", strings.Join(addrs, ","), "-network", key.network}
	if key.tls {
		args = append(args, "-tls", "-cert", s.certs.Cert, "-key", s.certs.Key)
	}
	srv := &server{limit: s.foreign.limit(startLimit)}
	srv.cmd = s.foreign.run(s.ctx, key.impl, s.progs[key.impl].Server, args...)
	srv.cmd.Env = environment(key.impl, key.pooling)
	srv.cmd.Stderr = &srv.log
	srv.err = srv.start()
	return srv
}

// start starts the process and waits until it listens.
func (srv *server) start() error {
	stdin, err := srv.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := srv.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := srv.cmd.Start(); err != nil {
		return err
	}
	srv.stdin = stdin
	timer := time.AfterFunc(srv.limit, func() { _ = srv.cmd.Process.Kill() })
	defer timer.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		_ = srv.stop()
		return fmt.Errorf("server did not start: %s", srv.log.String())
	}
	srv.addr = addr
	return nil
}

// stop ends the process and returns its exit error.
func (srv *server) stop() error {
	if srv.stdin == nil {
		return nil
	}
	srv.stdin.Close()
	timer := time.AfterFunc(srv.limit, func() { _ = srv.cmd.Process.Kill() })
	defer timer.Stop()
	return srv.cmd.Wait()
}

// stop stops every server. It prints the servers that exited with an error, because they
// crashed or the race detector found something, and returns how many there were.
func (s *serverSet) stop() (failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, srv := range s.servers {
		if srv.err != nil {
			continue
		}
		if err := srv.stop(); err != nil && s.ctx.Err() == nil {
			failed++
			fmt.Printf("server of %+v: %v\n%s\n", key, err, srv.log.String())
		}
	}
	clear(s.servers)
	return failed
}

func environment(impl string, pooling bool) []string {
	env := os.Environ()
	if isOurs(impl) {
		env = append(env, fmt.Sprintf("%s=%v", poolingVariable, pooling))
	}
	return env
}

// parseResults parses a client's output. It skips lines that are not results.
func parseResults(out string) []result {
	var results []result
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) != 3 || (f[0] != "ok" && f[0] != "FAIL") {
			continue
		}
		results = append(results, result{name: f[1], ok: f[0] == "ok", detail: f[2]})
	}
	return results
}
