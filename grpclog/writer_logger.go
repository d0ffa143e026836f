// SPDX-License-Identifier: Apache-2.0

package grpclog

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc/internal/envconfig"
)

// NewLoggerV2 returns a logger with verbosity 0. It writes INFO to infoW, WARNING to
// warningW and infoW, and ERROR and FATAL to all three. Pass io.Discard for lines that
// are not wanted. GRPC_GO_LOG_FORMATTER applies.
func NewLoggerV2(infoW, warningW, errorW io.Writer) LoggerV2 {
	return NewLoggerV2WithVerbosity(infoW, warningW, errorW, 0)
}

// NewLoggerV2WithVerbosity is NewLoggerV2 with a verbosity.
func NewLoggerV2WithVerbosity(infoW, warningW, errorW io.Writer, v int) LoggerV2 {
	return newWriterLogger([3]io.Writer{infoW, warningW, errorW}, v, false)
}

// newFromEnvironment returns the logger of programs that set none.
func newFromEnvironment() LoggerV2 {
	w := [3]io.Writer{io.Discard, io.Discard, io.Discard}
	// Only one of the three is standard error: with more, lines of higher severities would
	// be written several times.
	switch strings.ToLower(envconfig.LogSeverityLevel) {
	case "info":
		w[severityInfo] = os.Stderr
	case "warning":
		w[severityWarning] = os.Stderr
	case "", "error":
		w[severityError] = os.Stderr
	}
	v, _ := strconv.Atoi(envconfig.LogVerbosityLevel)
	return newWriterLogger(w, v, strings.EqualFold(envconfig.LogFormatter, "json"))
}

type severity int

const (
	severityInfo severity = iota
	severityWarning
	severityError
	severityFatal
	severities
)

var severityNames = [severities]string{"INFO", "WARNING", "ERROR", "FATAL"}

// writerLogger logs to writers. It does not format lines of severities that are discarded.
type writerLogger struct {
	out       [severities]*log.Logger // nil for severities that are discarded
	verbosity int
	json      bool
}

func newWriterLogger(w [3]io.Writer, verbosity int, asJSON bool) *writerLogger {
	l := &writerLogger{verbosity: verbosity, json: asJSON}
	flags := log.LstdFlags | log.Lmsgprefix
	if asJSON {
		flags = 0
	}
	var to []io.Writer
	for s := severityInfo; s < severities; s++ {
		// A line goes to the writer of its severity and to those of all lower severities.
		if s < severityFatal && w[s] != nil && w[s] != io.Discard {
			to = append([]io.Writer{w[s]}, to...)
		}
		if len(to) == 0 {
			continue
		}
		prefix := severityNames[s] + ": "
		if asJSON {
			prefix = ""
		}
		l.out[s] = log.New(io.MultiWriter(to...), prefix, flags)
	}
	return l
}

func (l *writerLogger) log(s severity, format func() string) {
	out := l.out[s]
	if out == nil {
		return
	}
	text := format()
	if l.json {
		b, _ := json.Marshal(map[string]string{"severity": severityNames[s], "message": strings.TrimSuffix(text, "\n")})
		text = string(b)
	}
	_ = out.Output(0, text) // there is nowhere to report an error
}

func (l *writerLogger) print(s severity, args []any) {
	l.log(s, func() string { return fmt.Sprint(args...) })
}

func (l *writerLogger) println(s severity, args []any) {
	l.log(s, func() string { return fmt.Sprintln(args...) })
}

func (l *writerLogger) printf(s severity, format string, args []any) {
	l.log(s, func() string { return fmt.Sprintf(format, args...) })
}

func (l *writerLogger) V(v int) bool { return v <= l.verbosity }

func (l *writerLogger) Info(args ...any)              { l.print(severityInfo, args) }
func (l *writerLogger) Infoln(args ...any)            { l.println(severityInfo, args) }
func (l *writerLogger) InfoDepth(_ int, args ...any)  { l.println(severityInfo, args) }
func (l *writerLogger) Infof(f string, args ...any)   { l.printf(severityInfo, f, args) }
func (l *writerLogger) Warning(args ...any)           { l.print(severityWarning, args) }
func (l *writerLogger) Warningln(args ...any)         { l.println(severityWarning, args) }
func (l *writerLogger) Error(args ...any)             { l.print(severityError, args) }
func (l *writerLogger) Errorln(args ...any)           { l.println(severityError, args) }
func (l *writerLogger) ErrorDepth(_ int, args ...any) { l.println(severityError, args) }
func (l *writerLogger) Errorf(f string, args ...any)  { l.printf(severityError, f, args) }

func (l *writerLogger) WarningDepth(_ int, args ...any) { l.println(severityWarning, args) }
func (l *writerLogger) Warningf(f string, args ...any)  { l.printf(severityWarning, f, args) }

func (l *writerLogger) Fatal(args ...any) {
	l.print(severityFatal, args)
	os.Exit(1)
}

func (l *writerLogger) Fatalln(args ...any) {
	l.println(severityFatal, args)
	os.Exit(1)
}

func (l *writerLogger) Fatalf(format string, args ...any) {
	l.printf(severityFatal, format, args)
	os.Exit(1)
}

func (l *writerLogger) FatalDepth(_ int, args ...any) {
	l.println(severityFatal, args)
	os.Exit(1)
}
