// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Resident is how much memory the process has now, and had at most, in bytes. Only Linux
// tells that of another process; elsewhere both are 0.
func (p *Process) Resident() (now, most int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.ID()))
	if err != nil {
		return 0, 0
	}
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kb, _ := strconv.ParseInt(string(fields[1]), 10, 64)
		switch string(fields[0]) {
		case "VmRSS:":
			now = kb << 10
		case "VmHWM:":
			most = kb << 10
		}
	}
	return now, most
}
