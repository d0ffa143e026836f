// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package farpath

import (
	"errors"
	"net/netip"
	"os/exec"
)

var errSystem = errors.New("a far path takes Linux")

// Path is what there is not on this system: its methods are for programs to compile.
type Path struct{ near, far End }

// New makes no path here.
func New(Shape, string) (*Path, error) { return nil, errSystem }

// Available says why there can be no path here.
func Available() error { return errSystem }

// AsRoot changes nothing.
func AsRoot(*exec.Cmd) {}

// Near is one end.
func (p *Path) Near() *End { return &p.near }

// Far is the other end.
func (p *Path) Far() *End { return &p.far }

// Down takes nothing down.
func (p *Path) Down() {}

// Up brings nothing up.
func (p *Path) Up() {}

// Counts are what was carried.
func (p *Path) Counts() (there, back Counts) { return there, back }

// Close ends nothing.
func (p *Path) Close() {}

// End is one end of no path.
type End struct{}

// Addr is no address.
func (e *End) Addr() netip.Addr { return netip.Addr{} }

// SetAddr changes nothing.
func (e *End) SetAddr(netip.Addr) error { return errSystem }

// Start starts no command.
func (e *End) Start(*exec.Cmd) error { return errSystem }
