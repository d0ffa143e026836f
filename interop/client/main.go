// SPDX-License-Identifier: Apache-2.0

// Command client runs interoperability cases against a server of the test service.
//
//	client -addr 127.0.0.1:10000 -case all
//	client -addr 127.0.0.1:10000,127.0.0.1:10001,127.0.0.1:10002 -case round_robin
//	client -network unix -addr /run/interop.sock -case ping_pong,empty_stream
//	client -tls -ca ca.pem -server-name interop.test -addr 127.0.0.1:10000
//
// All cases use the first server. Cases that need more servers are skipped if there are not
// enough.
//
// The program prints one line for each case, separated by tabs: ok, FAIL or skip, the case's
// name, and the time it took or what was wrong. It exits with code 1 if a case failed, and with
// code 2 if it could not start.
//
// With -load it runs no cases, but makes RPCs for the given time. It then prints a line for each
// kind of outcome, separated by tabs: load, how many RPCs had the outcome, and the outcome.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop"
)

type options struct {
	addr       string
	network    string
	cases      string
	compressor string
	tls        bool
	ca         string
	serverName string
	timeout    time.Duration
	load       time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:10000", "host:port, or the path of a unix socket; of several servers, separated by commas")
	flag.StringVar(&o.network, "network", "tcp", "tcp or unix")
	flag.StringVar(&o.cases, "case", "all", "cases to run, separated by commas, or all")
	flag.StringVar(&o.compressor, "compressor", "", "compressor of all requests whose case does not say (gzip)")
	flag.BoolVar(&o.tls, "tls", false, "use TLS")
	flag.StringVar(&o.ca, "ca", "", "with -tls: file of the certificate authority to trust (default: the system's)")
	flag.StringVar(&o.serverName, "server-name", "", "with -tls: name that the certificate is to have (default: the host)")
	flag.DurationVar(&o.timeout, "timeout", 20*time.Second, "limit of each case")
	flag.DurationVar(&o.load, "load", 0, "make RPCs for that long, in place of the cases")
	list := flag.Bool("list", false, "print the names of the cases, and stop")
	flag.Parse()

	if *list {
		for _, c := range interop.Cases() {
			fmt.Printf("%s\t%s\n", c.Name, c.About)
		}
		return
	}
	failed, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run runs the chosen cases one after another over one channel.
func run(o options) (failed int, err error) {
	cases, err := choose(o.cases)
	if err != nil {
		return 0, err
	}
	client, err := connect(o)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if o.load > 0 {
		load(client, o.load)
		return 0, nil
	}
	for _, c := range cases {
		start := time.Now()
		switch err := runCase(client, c, o.timeout); {
		case errors.Is(err, interop.ErrSkipped):
			fmt.Printf("skip\t%s\t%v\n", c.Name, err)
		case err != nil:
			failed++
			fmt.Printf("FAIL\t%s\t%s\n", c.Name, strings.ReplaceAll(err.Error(), "\n", " "))
		default:
			fmt.Printf("ok\t%s\t%v\n", c.Name, time.Since(start).Round(10*time.Microsecond))
		}
	}
	return failed, nil
}

func load(client *interop.Client, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	for kind, n := range interop.Load(ctx, client) {
		fmt.Printf("load\t%d\t%s\n", n, strings.ReplaceAll(kind, "\n", " "))
	}
}

func runCase(client *interop.Client, c interop.Case, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return c.Run(ctx, client)
}

func choose(names string) ([]interop.Case, error) {
	all := interop.Cases()
	if names == "all" {
		return all, nil
	}
	byName := make(map[string]interop.Case, len(all))
	for _, c := range all {
		byName[c.Name] = c
	}
	var chosen []interop.Case
	for _, name := range strings.Split(names, ",") {
		c, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("no case is named %q (see -list)", name)
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

func connect(o options) (*interop.Client, error) {
	cfg := interop.Config{Network: o.network, Addrs: strings.Split(o.addr, ",")}
	if o.tls {
		creds, err := tlsCredentials(o)
		if err != nil {
			return nil, err
		}
		cfg.Creds = creds
	}
	if o.compressor != "" {
		cfg.Options = append(cfg.Options, grpc.WithDefaultCallOptions(grpc.UseCompressor(o.compressor)))
	}
	return interop.NewClient(cfg)
}

func tlsCredentials(o options) (credentials.TransportCredentials, error) {
	if o.ca == "" {
		return credentials.NewClientTLSFromCert(nil, o.serverName), nil
	}
	return credentials.NewClientTLSFromFile(o.ca, o.serverName)
}
