// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Path is two ends and what lies between. Its methods may be called by any goroutine.
type Path struct {
	near, far *End
	there     *carrier // from near to far
	back      *carrier
	wg        sync.WaitGroup
	close     func() // once
}

// New makes a path. Congestion is the name of TCP's congestion control at both ends, such as
// "cubic"; empty is the system's default.
func New(shape Shape, congestion string) (*Path, error) {
	near, err := newEnd(nth(1), congestion)
	if err != nil {
		return nil, err
	}
	far, err := newEnd(nth(2), congestion)
	if err != nil {
		near.close()
		return nil, err
	}
	p := &Path{near: near, far: far}
	var errs [2]error
	p.there, errs[0] = newCarrier(near.device, far.device, newLine(shape, 1))
	p.back, errs[1] = newCarrier(far.device, near.device, newLine(shape, 2))
	p.close = sync.OnceFunc(p.end)
	if err := errors.Join(errs[:]...); err != nil {
		p.close()
		return nil, err
	}
	p.wg.Go(p.there.run)
	p.wg.Go(p.back.run)
	return p, nil
}

// Near is the end with 10.213.0.1, Far the one with 10.213.0.2.
func (p *Path) Near() *End { return p.near }

// Far is the other end.
func (p *Path) Far() *End { return p.far }

// Set gives the path another shape, for what is sent from now on.
func (p *Path) Set(shape Shape) { p.both(func(l *line) { l.reshape(shape) }) }

// Down takes the link down: what is on its way, and what is sent, is lost, and nobody is told.
func (p *Path) Down() { p.both(func(l *line) { l.down = true }) }

// Up brings the link up again.
func (p *Path) Up() { p.both(func(l *line) { l.down = false }) }

func (p *Path) both(do func(*line)) {
	p.there.change(do)
	p.back.change(do)
}

// Counts are what was carried from Near to Far, and back.
func (p *Path) Counts() (there, back Counts) { return p.there.count(), p.back.count() }

// Close ends the forwarder, and takes both devices away. Processes that run in the namespaces
// go on, without a link.
func (p *Path) Close() { p.close() }

func (p *Path) end() {
	for _, c := range []*carrier{p.there, p.back} {
		c.end()
	}
	p.wg.Wait()
	for _, c := range []*carrier{p.there, p.back} {
		_ = unix.Close(c.wake)
	}
	p.near.close()
	p.far.close()
}

// Available says why there can be no path here, nil if there can.
func Available() error {
	p, err := New(Shape{}, "")
	if err != nil {
		return fmt.Errorf("a far path takes Linux with TUN devices, and root or a user namespace: %w", err)
	}
	p.Close()
	return nil
}
