// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine says where and when something was measured.
type machine struct {
	When   time.Time
	Go     string
	System string
	CPU    string
	CPUs   int
}

func thisMachine(now time.Time) machine {
	return machine{
		When:   now,
		Go:     runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
		CPU:    cpuName(),
		CPUs:   runtime.NumCPU(),
	}
}

func (m machine) String() string {
	text := fmt.Sprintf("%s, %s, %s, %d CPUs", m.When.Format(time.DateTime), m.Go, m.System, m.CPUs)
	if m.CPU != "" {
		text += " (" + m.CPU + ")"
	}
	return text
}

// cpuName is what Linux calls the processor, "" elsewhere.
func cpuName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(data) {
		if name, ok := bytes.CutPrefix(line, []byte("model name")); ok {
			return strings.TrimSpace(strings.TrimLeft(string(name), "\t :"))
		}
	}
	return ""
}
