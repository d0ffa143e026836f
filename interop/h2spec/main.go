// SPDX-License-Identifier: Apache-2.0

// Command h2spec runs the HTTP/2 conformance suite h2spec against a server of this module, and
// compares the cases that fail with those that are known to fail.
//
//	go run ./interop/h2spec [-tool path] [-v]
//
// The suite requests pages from a web server. A gRPC server refuses such requests, with a body that says why,
// but the rules of HTTP/2 are the same. Without -tool the suite is first downloaded from the module proxy and
// built.
package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/grpc"
)

// suite is the suite's package and version.
const suite = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"

// known has the cases that always fail, with the reason.
var known = map[string]string{
	"http2/4.2: Sends a large size HEADERS frame that exceeds the SETTINGS_MAX_FRAME_SIZE": "the server's SETTINGS allow frames of more than 16 KiB",
}

// chance has the cases that sometimes fail: if the server has refused the request before the wrong frame
// arrives, the stream has ended, and the server ignores frames on it. The DATA frame of 2^14 octets has as many as the server's
// SETTINGS allow, 256 KiB, which is more than the window: the connection may end before the request is refused.
var chance = map[string]bool{
	"http2/4.2: Sends a DATA frame with 2^14 octets in length":                                                                                              true,
	"http2/5.1: closed: Sends a HEADERS frame after sending RST_STREAM frame":                                                                               true,
	"http2/8.1: Sends a second HEADERS frame without the END_STREAM flag":                                                                                   true,
	"http2/8.1.2.1: Sends a HEADERS frame that contains a pseudo-header field as trailers":                                                                  true,
	"http2/5.1: closed: Sends a DATA frame after sending RST_STREAM frame":                                                                                  true,
	"http2/6.9.1: Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream":                                       true,
	"http2/8.1.2.6: Sends a HEADERS frame with the \"content-length\" header field which does not equal the DATA frame payload length":                      true,
	"http2/8.1.2.6: Sends a HEADERS frame with the \"content-length\" header field which does not equal the sum of the multiple DATA frames payload length": true,
}

func main() {
	tool := flag.String("tool", "", "the `path` of the suite's program; it is built if empty")
	verbose := flag.Bool("v", false, "print all that the suite prints")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, *tool, *verbose)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "h2spec:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, tool string, verbose bool) (bool, error) {
	dir, err := os.MkdirTemp("", "h2spec")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if tool == "" {
		if tool, err = build(ctx, dir); err != nil {
			return false, err
		}
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false, err
	}
	s := grpc.NewServer()
	defer s.Stop()
	go func() { _ = s.Serve(lis) }()
	report := filepath.Join(dir, "report.xml")
	port := strconv.Itoa(lis.Addr().(*net.TCPAddr).Port)
	out, err := exec.CommandContext(ctx, tool, "--host", "127.0.0.1", "--port", port, "--strict", "--junit-report", report).CombinedOutput()
	if verbose {
		fmt.Printf("%s\n", out)
	}
	text, readErr := os.ReadFile(report) // err does not count if there is a report: it may say that a case failed
	if readErr != nil {
		return false, fmt.Errorf("%w: %w\n%s", readErr, err, out)
	}
	cases, err := parse(text)
	if err != nil {
		return false, err
	}
	return judge(cases), nil
}

func build(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "install", suite)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s: %w\n%s", suite, err, out)
	}
	return filepath.Join(dir, "h2spec"), nil
}

// outcome is the outcome of a case.
type outcome struct {
	name string // the names of the case's section and of the case
	why  string // why the case failed; empty if it did not fail
	left bool   // says that the suite has left the case out
}

// parse parses a report in JUnit's format.
func parse(text []byte) ([]outcome, error) {
	var report struct {
		Suites []struct {
			Package string `xml:"package,attr"`
			Cases   []struct {
				Name    string  `xml:"classname,attr"`
				Failure *string `xml:"failure"`
				Error   *string `xml:"error"`
				Skipped *string `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.NewDecoder(bytes.NewReader(text)).Decode(&report); err != nil {
		return nil, err
	}
	var all []outcome
	for _, s := range report.Suites {
		for _, c := range s.Cases {
			o := outcome{name: s.Package + ": " + c.Name, left: c.Skipped != nil}
			for _, why := range []*string{c.Failure, c.Error} {
				if why != nil {
					o.why = strings.Join(strings.Fields(*why), " ") + "."
				}
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// judge prints the cases that failed, and reports whether they are those that are known to fail.
func judge(all []outcome) bool {
	ok, passed, left, failed := len(all) > 0, 0, 0, make(map[string]bool)
	for _, o := range all {
		switch {
		case o.left:
			left++
			fmt.Printf("left out %s\n", o.name)
			continue
		case o.why == "":
			passed++
			continue
		case chance[o.name]:
			fmt.Printf("by chance %s\n", o.name)
		case known[o.name] == "":
			ok = false
			fmt.Printf("FAIL %s\n    %s\n", o.name, o.why)
		default:
			fmt.Printf("known %s: %s\n", o.name, known[o.name])
		}
		failed[o.name] = true
	}
	for name := range known {
		if !failed[name] {
			ok = false
			fmt.Printf("STALE %s: known to fail, and it does not\n", name)
		}
	}
	fmt.Printf("%d cases: %d passed, %d failed, %d left out\n", len(all), passed, len(failed), left)
	return ok
}
