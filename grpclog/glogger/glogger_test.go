// SPDX-License-Identifier: Apache-2.0

package glogger

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/grpclog"
)

// TestLines runs this test again as a program of its own, as glog writes to standard error and
// its flags are the process's.
func TestLines(t *testing.T) {
	if os.Getenv("GLOGGER_TEST") != "" {
		logAll()
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLines$")
	cmd.Env = append(os.Environ(), "GLOGGER_TEST=yes")
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	// "I1122 03:34:26.762492   23189 main.go:16] text": all lines must name this file.
	line := regexp.MustCompile(`^([IWEF])\d{4} .* glogger_test\.go:\d+\] (.*)$`)
	var got []string
	for l := range strings.Lines(out.String()) {
		if m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n")); m != nil {
			got = append(got, m[1]+" "+m[2])
		}
		if strings.HasPrefix(l, "goroutine ") || strings.HasPrefix(l, "F") {
			break // what follows is a fatal line's stack
		}
	}
	want := []string{
		"I a1b", "I a 1 b", "I 7 x", "W w1", "W w 1", "W w-1", "E e1", "E e 1", "E e-1",
		"I depth", "W depth", "E depth", "I [comp]text", "I [comp]1 2", "E [comp]depth", "I V true false", "F bye 1",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q\n%s", got, want, out.String())
	}
	if cmd.ProcessState.Success() {
		t.Error("a fatal line does not end the program")
	}
}

func logAll() {
	for name, value := range map[string]string{"logtostderr": "true", "v": "2"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	grpclog.Info("a", 1, "b")
	grpclog.Infoln("a", 1, "b")
	grpclog.Infof("%d x", 7)
	grpclog.Warning("w", 1)
	grpclog.Warningln("w", 1)
	grpclog.Warningf("w-%d", 1)
	grpclog.Error("e", 1)
	grpclog.Errorln("e", 1)
	grpclog.Errorf("e-%d", 1)
	grpclog.InfoDepth(0, "depth")
	grpclog.WarningDepth(0, "depth")
	grpclog.ErrorDepth(0, "depth")
	c := grpclog.Component("comp")
	c.Info("text")
	c.Infof("%d %d", 1, 2)
	c.ErrorDepth(0, "depth")
	grpclog.Infof("V %v %v", grpclog.V(2), grpclog.V(3))
	grpclog.Fatalf("bye %d", 1)
}
