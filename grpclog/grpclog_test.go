// SPDX-License-Identifier: Apache-2.0

package grpclog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// use sets a logger for the time of the test.
func use(t *testing.T, l LoggerV2) {
	before := set.Load()
	t.Cleanup(func() { set.Store(before) })
	SetLoggerV2(l)
}

func TestWriters(t *testing.T) {
	var info, warning, errs bytes.Buffer
	l := NewLoggerV2WithVerbosity(&info, &warning, &errs, 2)
	l.Info("i", 1)
	l.Infoln("i", 2)
	l.Infof("i%d", 3)
	l.Warning("w", 1)
	l.Warningln("w", 2)
	l.Warningf("w%d", 3)
	l.Error("e", 1)
	l.Errorln("e", 2)
	l.Errorf("e%d", 3)
	for name, tt := range map[string]struct {
		got  string
		want string
	}{
		"info":    {info.String(), "INFO:i1 INFO:i 2 INFO:i3 WARNING:w1 WARNING:w 2 WARNING:w3 ERROR:e1 ERROR:e 2 ERROR:e3"},
		"warning": {warning.String(), "WARNING:w1 WARNING:w 2 WARNING:w3 ERROR:e1 ERROR:e 2 ERROR:e3"},
		"error":   {errs.String(), "ERROR:e1 ERROR:e 2 ERROR:e3"},
	} {
		got := regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d ([A-Z]+): `).ReplaceAllString(tt.got, "$1:")
		if got = strings.Join(strings.Split(strings.TrimSuffix(got, "\n"), "\n"), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for v, want := range map[int]bool{0: true, 2: true, 3: false} {
		if l.V(v) != want {
			t.Errorf("V(%d) = %v", v, !want)
		}
	}
}

type mustNotFormat struct{ t *testing.T }

func (m mustNotFormat) String() string {
	m.t.Error("formatted for nobody")
	return ""
}

func TestDiscardedIsNotFormatted(t *testing.T) {
	l := NewLoggerV2(io.Discard, io.Discard, io.Discard)
	l.Info(mustNotFormat{t})
	l.Warningln(mustNotFormat{t})
	l.Errorf("%v", mustNotFormat{t})
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	newWriterLogger([3]io.Writer{&b, io.Discard, io.Discard}, 0, true).Warningln(`a "b"`, 1)
	var got struct{ Severity, Message string }
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%q: %v", b.String(), err)
	}
	if got.Severity != "WARNING" || got.Message != `a "b" 1` || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%q", b.String())
	}
}

// positions is a DepthLoggerV2 that notes where it was called for.
type positions struct {
	LoggerV2
	out *log.Logger
}

func (p positions) InfoDepth(depth int, args ...any) {
	_ = p.out.Output(depth+2, fmt.Sprintln(args...))
}
func (p positions) WarningDepth(depth int, args ...any) { p.InfoDepth(depth+1, args...) }
func (p positions) ErrorDepth(depth int, args ...any)   { p.InfoDepth(depth+1, args...) }
func (p positions) FatalDepth(depth int, args ...any)   { p.InfoDepth(depth+1, args...) }

func TestDepth(t *testing.T) {
	var b bytes.Buffer
	use(t, positions{NewLoggerV2(io.Discard, io.Discard, io.Discard), log.New(&b, "", log.Lshortfile)})
	c := Component("part")
	helper := func() {
		InfoDepth(0, "own")
		c.InfoDepth(0, "own")
	}
	helper()
	c.Info("a", "b")
	c.Infoln("a", "b")
	c.Infof("a%s", "b")
	c.Warning("a", "b")
	c.Warningln("a", "b")
	c.Warningf("a%s", "b")
	c.Error("a", "b")
	c.Errorln("a", "b")
	c.Errorf("a%s", "b")
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := []string{"own", "[part] own"}
	for range 3 {
		want = append(want, "[part] ab", "[part] a b", "[part] ab")
	}
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		position, text, _ := strings.Cut(line, ": ")
		if !strings.HasPrefix(position, "grpclog_test.go:") || text != want[i] {
			t.Errorf("%q, want %q of grpclog_test.go", line, want[i])
		}
	}
}

func TestPackageFunctions(t *testing.T) {
	var b bytes.Buffer
	use(t, NewLoggerV2(&b, io.Discard, io.Discard))
	Info("1")
	Infof("%d", 2)
	Infoln("3")
	Warning("4")
	Warningf("%d", 5)
	Warningln("6")
	Error("7")
	Errorf("%d", 8)
	Errorln("9")
	Print("a")
	Printf("%s", "b")
	Println("c")
	WarningDepth(0, "d")
	ErrorDepth(0, "e")
	var got strings.Builder
	for line := range strings.Lines(b.String()) {
		got.WriteString(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
	}
	if got.String() != "123456789abcde" {
		t.Errorf("%q", b.String())
	}
	if !V(0) || V(1) {
		t.Error("V is wrong")
	}
}

func TestOldLogger(t *testing.T) {
	var b bytes.Buffer
	use(t, NewLoggerV2(io.Discard, io.Discard, io.Discard))
	SetLogger(log.New(&b, "", 0))
	Info("1")
	Warningln("2", "x")
	Errorf("%d", 3)
	InfoDepth(1, "4", "x")
	Component("part").Infof("%d", 5)
	if got, want := b.String(), "1\n2 x\n3\n4 x\n[part] 5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !V(1000) {
		t.Error("V(1000) is false")
	}
}

func TestComponentIsOne(t *testing.T) {
	if Component("x") != Component("x") || Component("x") == Component("y") {
		t.Error("components are not one for each name")
	}
}

// TestEnvironment runs this test in a process of its own for each environment.
func TestEnvironment(t *testing.T) {
	if os.Getenv("TEST_LOG") != "" {
		Info("i")
		Warning("w")
		Error("e")
		if V(3) {
			Error("v")
		}
		Component("part").Fatal("f")
	}
	for _, tt := range []struct{ env, want string }{
		{"X=", "ERROR:e FATAL:[part] f"},
		{"GRPC_GO_LOG_SEVERITY_LEVEL=error", "ERROR:e FATAL:[part] f"},
		{"GRPC_GO_LOG_SEVERITY_LEVEL=WARNING", "WARNING:w ERROR:e FATAL:[part] f"},
		{"GRPC_GO_LOG_SEVERITY_LEVEL=info", "INFO:i WARNING:w ERROR:e FATAL:[part] f"},
		{"GRPC_GO_LOG_VERBOSITY_LEVEL=3", "ERROR:e ERROR:v FATAL:[part] f"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEnvironment$")
		cmd.Env = append(os.Environ(), "TEST_LOG=1", tt.env)
		var b bytes.Buffer
		cmd.Stderr = &b
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: %v, want exit code 1", tt.env, err)
		}
		got := regexp.MustCompile(`(?m)^\d{4}/\S+ \S+ ([A-Z]+): `).ReplaceAllString(b.String(), "$1:")
		if got = strings.Join(strings.Split(strings.TrimSuffix(got, "\n"), "\n"), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.env, got, tt.want)
		}
	}
}
