// SPDX-License-Identifier: Apache-2.0

package attacker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Conns runs attack over n connections to the server at once. A connection that the victim
// ends is replaced by a new one, until the attack is over or returns without an error; then
// its connection stays open.
func (a *Attacker) Conns(n int, attack func(*Conn) error) error {
	return a.repeat(n, func() error {
		c, err := a.Open()
		if err != nil {
			return err
		}
		return a.use(c, attack)
	})
}

// Bare is Conns for attacks that send any bytes, before there is TLS or HTTP/2.
func (a *Attacker) Bare(n int, attack func(net.Conn) error) error {
	return a.repeat(n, func() error {
		nc, err := a.Dial()
		if err != nil {
			return err
		}
		if err := attack(nc); err != nil {
			nc.Close()
			return err
		}
		return nil
	})
}

func (a *Attacker) repeat(n int, once func() error) error {
	a.Each(n, func(int) {
		for !a.Over() && once() != nil {
			a.Sleep(5 * time.Millisecond)
		}
	})
	if a.opened.Load() == 0 {
		return fmt.Errorf("no connection could be opened to %s", a.addr)
	}
	return nil
}

// use runs attack over c. A connection stays as it is when the attack ran out of time.
func (a *Attacker) use(c *Conn, attack func(*Conn) error) error {
	err := attack(c)
	if err != nil && !a.Over() {
		c.Close()
	}
	return err
}

// Serve attacks each client that comes, until the attack is over.
func (a *Attacker) Serve(attack func(*Conn) error) error {
	return a.Accept(func(nc net.Conn) error {
		secured, err := a.security.server(a.ctx, nc)
		if err != nil {
			nc.Close()
			return nil
		}
		c := a.server(secured)
		if err := c.readPreface(); err != nil {
			c.Close()
			return nil
		}
		if err := a.use(c, attack); err != nil && !a.Over() {
			c.Close()
		}
		return nil
	})
}

// Accept is Serve for attacks that send any bytes.
func (a *Attacker) Accept(attack func(net.Conn) error) error {
	stop := context.AfterFunc(a.ctx, func() { a.lis.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		nc, err := a.lis.Accept()
		if err != nil {
			if a.opened.Load() == 0 {
				return errors.New("no client came")
			}
			return nil
		}
		kept, err := a.keep(nc)
		if err != nil {
			return nil
		}
		wg.Go(func() {
			if attack(kept) != nil {
				kept.Close()
			}
		})
	}
}
