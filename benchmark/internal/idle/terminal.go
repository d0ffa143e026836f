// SPDX-License-Identifier: Apache-2.0

package idle

import (
	"fmt"
	"os"
	"sync"
)

// Terminal shows progress: on a terminal as a line that moves, elsewhere as a line for
// each thing that is done.
func Terminal(out *os.File) Observer {
	moving := false
	if info, err := out.Stat(); err == nil {
		moving = info.Mode()&os.ModeCharDevice != 0
	}
	var mu sync.Mutex
	lastText := ""
	return func(impl, text string, count, total int) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !moving:
			if total == 0 && text != lastText {
				fmt.Fprintf(out, "%s: %s\n", impl, text)
			}
		case total == 0:
			fmt.Fprintf(out, "\r\x1b[K%s: %s", impl, text)
		default:
			fmt.Fprintf(out, "\r\x1b[K%s: %s %d/%d", impl, text, count, total)
			if count == total {
				fmt.Fprintln(out)
			}
		}
		lastText = text
	}
}
