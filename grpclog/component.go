// SPDX-License-Identifier: Apache-2.0

package grpclog

import (
	"fmt"
	"os"
	"sync"
)

// Component returns the logger of a component of the library or program. It puts the
// component's name before each line, and writes to the logger that is set when the line is
// logged. Calls with the same name return the same logger.
//
// Experimental: this API may change in a later release.
func Component(name string) DepthLoggerV2 {
	c, _ := components.LoadOrStore(name, &component{prefix: "[" + name + "]"})
	return c.(*component)
}

var components sync.Map // of *component by name

type component struct{ prefix string }

// with returns args with the prefix in front, for loggers that format as fmt.Println does.
// It returns a new slice, because args belongs to the caller.
func (c *component) with(args []any) []any {
	return append([]any{c.prefix}, args...)
}

func (c *component) V(l int) bool { return V(l) }

// All methods below call a Depth method of the current logger, and add their own frames, one
// or two, to the depth. The position that is logged is therefore that of the user's call.

func (c *component) InfoDepth(depth int, args ...any) {
	current().InfoDepth(depth+1, c.with(args)...)
}

func (c *component) WarningDepth(depth int, args ...any) {
	current().WarningDepth(depth+1, c.with(args)...)
}

func (c *component) ErrorDepth(depth int, args ...any) {
	current().ErrorDepth(depth+1, c.with(args)...)
}

func (c *component) FatalDepth(depth int, args ...any) {
	current().FatalDepth(depth+1, c.with(args)...)
	os.Exit(1)
}

func (c *component) Info(args ...any)      { c.InfoDepth(1, fmt.Sprint(args...)) }
func (c *component) Infoln(args ...any)    { c.InfoDepth(1, args...) }
func (c *component) Warning(args ...any)   { c.WarningDepth(1, fmt.Sprint(args...)) }
func (c *component) Warningln(args ...any) { c.WarningDepth(1, args...) }
func (c *component) Error(args ...any)     { c.ErrorDepth(1, fmt.Sprint(args...)) }
func (c *component) Errorln(args ...any)   { c.ErrorDepth(1, args...) }
func (c *component) Fatal(args ...any)     { c.FatalDepth(1, fmt.Sprint(args...)) }
func (c *component) Fatalln(args ...any)   { c.FatalDepth(1, args...) }

func (c *component) Infof(format string, args ...any) {
	c.InfoDepth(1, fmt.Sprintf(format, args...))
}

func (c *component) Warningf(format string, args ...any) {
	c.WarningDepth(1, fmt.Sprintf(format, args...))
}

func (c *component) Errorf(format string, args ...any) {
	c.ErrorDepth(1, fmt.Sprintf(format, args...))
}

func (c *component) Fatalf(format string, args ...any) {
	c.FatalDepth(1, fmt.Sprintf(format, args...))
}
