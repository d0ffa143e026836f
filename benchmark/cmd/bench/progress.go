// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"time"
)

// progress is a line at the bottom of a terminal; elsewhere it is nothing, because the
// rows themselves tell.
type progress struct {
	out         *os.File
	done, total int
	start       time.Time
}

func newProgress(out *os.File, total int) *progress {
	p := &progress{out: out, total: total, start: time.Now()}
	if info, err := out.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		p.out = nil
	}
	return p
}

// show says what begins, and when all will be done.
func (p *progress) show(text string) {
	done := p.done
	p.done++
	if p.out == nil {
		return
	}
	left := ""
	if done > 0 {
		took := time.Since(p.start)
		left = fmt.Sprintf(", %v left", (took / time.Duration(done) * time.Duration(p.total-done)).Round(time.Second))
	}
	fmt.Fprintf(p.out, "\r\x1b[K[%d/%d%s] %s", p.done, p.total, left, text)
}

func (p *progress) clear() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
